import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { type Admission, AdmissionRefused, createVerifier, type Verifier } from "@svc/verifier";
import { type Operation, operations } from "./agents.ts";

/**
 * Verifies each call itself: a hop token narrowed to the operation, and if privileged a transaction token over the
 * body. It returns what they say, never the tokens. It also serves calls without one, as behind observe mode.
 */
const entries = new Map<string, object>([["7", { id: "7", amount: 42, memo: "team lunch" }]]);

const { CONTROL_PLANE = "http://127.0.0.1:8080", ISSUER: issuer = CONTROL_PLANE } = process.env;
let verifier: Verifier | undefined;

const httpError = (status: number, message: string) => Object.assign(new Error(message), { status });

createServer((request, response) => {
  answer(request).then(
    ({ status, body }) => send(response, status, body),
    (error) => {
      const status = statusOf(error);
      send(response, status, { error: status === 500 ? "internal error" : error.message });
    },
  );
}).listen(Number(process.env.PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));

const unauthorized: readonly unknown[] = ["missing_token", "malformed", "type", "signature", "issuer", "expired"];

function statusOf(error: unknown): number {
  if (error instanceof AdmissionRefused) return unauthorized.includes(error.cause) ? 401 : 403;
  return error instanceof Error && "status" in error ? Number(error.status) : 500;
}

async function answer(request: IncomingMessage): Promise<{ status: number; body: object }> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const body = Buffer.concat(await request.toArray());
  if (request.method === "GET" && pathname === "/livez") return { status: 200, body: {} };
  if (request.method === "GET" && pathname === "/capabilities") {
    return { status: 200, body: { tools: Object.values(operations) } };
  }
  const [, id] = /^\/entries\/([^/]+)$/.exec(pathname) ?? [];
  if (request.method === "GET" && id !== undefined) {
    const seen = await admit(request, operations.read, body);
    const entry = entries.get(id);
    if (entry === undefined) throw httpError(404, "no such entry");
    return { status: 200, body: { entry, seen } };
  }
  if (request.method === "POST" && pathname === "/entries") {
    const seen = await admit(request, operations.post, body);
    const entry = { ...objectOf(body), id: String(entries.size + 7) };
    entries.set(entry.id, entry);
    return { status: 201, body: { entry, seen } };
  }
  throw httpError(404, "no such operation");
}

/** What the tokens of the call say; null for a call without any. */
async function admit(
  { headers }: IncomingMessage,
  { ref, data_classes: [dataClass], privileged }: Operation,
  params: Buffer,
): Promise<Admission | null> {
  if (headers.authorization === undefined) return null;
  // Created at the first call: the control plane, and with it the key set, may start later than this service.
  verifier ??= createVerifier({
    issuer,
    audience: Object.values(operations).map((operation) => operation.ref),
    jwksUrl: `${CONTROL_PLANE}/.well-known/jwks.json`,
    identityView: "off",
  });
  return verifier.admit({
    headers,
    dataClass,
    audience: ref,
    transactionRequired: privileged,
    ...(privileged && { params }),
  });
}

function objectOf(body: Buffer): object {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Refused below.
  }
  throw httpError(400, "the entry must be a JSON object");
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}
