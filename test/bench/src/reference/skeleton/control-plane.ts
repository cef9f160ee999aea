import { createPrivateKey, sign } from "node:crypto";
import { createServer } from "node:http";
import postgres from "postgres";
import { createClient } from "redis";
import { uuidv7 } from "uuidv7";
import { listen } from "../../servers/listen.ts";
import { groupedRows } from "./rows.ts";

/**
 * The lower bound of any control plane of this architecture for a hop: it reads two requests, commits two rows, spends
 * once and signs, with responses of the real size. It does not verify, decide, limit, log or count.
 */
const { DATABASE_URL = "", REDIS_URL = "", ISSUER_JWK = "" } = process.env;
const issuer = createPrivateKey({ key: JSON.parse(ISSUER_JWK), format: "jwk" });
const commit = groupedRows(postgres(DATABASE_URL, { max: 2, connection: { synchronous_commit: "on" } }));
const redis = await createClient({ url: REDIS_URL }).connect();

interface Answer {
  readonly status: number;
  readonly body: object;
}

const endpoints = new Map<string | undefined, (body: string) => Promise<Answer>>([
  ["/v1/authorize", authorize],
  ["/v1/token/exchange", exchange],
]);

async function authorize(body: string): Promise<Answer> {
  const { session_id, target, target_kind, data_class } = JSON.parse(body);
  const action_id = uuidv7();
  const decided_at = new Date();
  await commit({ action_id, session_id, decided_at });
  return { status: 200, body: { action_id, ...allowed, target, target_kind, data_class, decided_at } };
}

const allowed = {
  decision: "allow",
  deny_reason: null,
  recoverable: false,
  enforced: true,
  hop: 2,
  acting_agent: "bench-agent-1",
  privileged: false,
  transaction_required: false,
  taint: "trusted_internal",
  taint_source: null,
  policy_version: 1,
  guarantee_level: "network",
};

const sessionId = uuidv7();

async function exchange(body: string): Promise<Answer> {
  const form = new URLSearchParams(body);
  const presented = form.get("subject_token") ?? "";
  // The signature identifies the token: nothing else of it is read.
  const key = presented.slice(presented.lastIndexOf(".") + 1);
  const first = await redis.set(key, "1", { condition: "NX", expiration: { type: "PX", value: 120_000 } });
  if (first === null) return { status: 400, body: { error: "invalid_grant" } };
  const jti = uuidv7();
  await commit({ action_id: jti, session_id: sessionId, decided_at: new Date() });
  const access_token = signed(jti, form);
  return { status: 200, body: { access_token, issued_token_type, token_type: "Bearer", expires_in: 60 } };
}

const issued_token_type = "urn:ietf:params:oauth:token-type:jwt";
const encode = (text: string): string => Buffer.from(text).toString("base64url");
const header = encode(JSON.stringify({ alg: "ES256", typ: "at+jwt", kid: "k".repeat(43) }));

/** Claims of a hop token's number and length. */
function signed(jti: string, form: URLSearchParams): string {
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    iss: "http://127.0.0.1:26405",
    sub: "bench",
    aud: form.get("resource"),
    scope: form.get("scope"),
    hop: 3,
    taint: "trusted_internal",
    jti,
    iat,
    exp: iat + 60,
    act: { sub: "bench-agent-1", act: { sub: "bench" } },
    sid: sessionId,
    policy_version: 1,
    action_id: form.get("action_id"),
    target_kind: "tool",
    privileged: false,
  };
  const input = `${header}.${encode(JSON.stringify(claims))}`;
  const signature = sign("sha256", Buffer.from(input), { key: issuer, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

listen(
  createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.once("end", async () => {
      try {
        const { status, body } = (await endpoints.get(request.url)?.(Buffer.concat(chunks).toString())) ?? unknown;
        const text = JSON.stringify(body);
        const headers = { "cache-control": "no-store", "content-type": "application/json" };
        response.writeHead(status, { ...headers, "content-length": Buffer.byteLength(text) }).end(text);
      } catch {
        response.destroy();
      }
    });
  }),
);

const unknown: Answer = { status: 404, body: {} };
