import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { admit, Refused } from "./admit.ts";
import { operations } from "./operations.ts";

/**
 * A small service that checks what reaches it itself, offline: a hop token narrowed to the very operation, and for a
 * privileged one a transaction token bound to the very body. It answers what it saw of them, never the tokens. A call
 * without any is served too, as any service would that stands behind an enforcement point in observe mode.
 */
const entries = new Map<string, object>([["7", { id: "7", amount: 42, memo: "team lunch" }]]);

createServer((request, response) => {
  answer(request).then(
    ({ status, body }) => send(response, status, body),
    (fault) => send(response, fault instanceof Refused ? fault.status : 500, { error: messageOf(fault) }),
  );
}).listen(Number(process.env.PORT), "127.0.0.1");
process.once("SIGTERM", () => process.exit(0));

async function answer(request: IncomingMessage): Promise<{ status: number; body: object }> {
  const { pathname } = new URL(request.url ?? "/", "http://localhost");
  const body = Buffer.concat(await request.toArray());
  if (request.method === "GET" && pathname === "/livez") return { status: 200, body: {} };
  if (request.method === "GET" && pathname === "/capabilities") {
    return { status: 200, body: { tools: Object.values(operations) } };
  }
  const [, id] = /^\/entries\/([^/]+)$/.exec(pathname) ?? [];
  if (request.method === "GET" && id !== undefined) {
    const seen = await admit(request.headers, operations.read, body);
    const entry = entries.get(id);
    if (entry === undefined) throw new Refused(404, "no such entry");
    return { status: 200, body: { entry, seen } };
  }
  if (request.method === "POST" && pathname === "/entries") {
    const seen = await admit(request.headers, operations.post, body);
    const entry = { ...objectOf(body), id: String(entries.size + 7) };
    entries.set(entry.id, entry);
    return { status: 201, body: { entry, seen } };
  }
  throw new Refused(404, "no such operation");
}

function objectOf(body: Buffer): object {
  try {
    const value: unknown = JSON.parse(body.toString("utf8"));
    if (typeof value === "object" && value !== null && !Array.isArray(value)) return value;
  } catch {
    // Told below.
  }
  throw new Refused(400, "the entry must be a JSON object");
}

function send(response: ServerResponse, status: number, body: object): void {
  response.writeHead(status, { "content-type": "application/json" });
  response.end(JSON.stringify(body));
}

const messageOf = (fault: unknown): string => (fault instanceof Refused ? fault.message : "internal error");
