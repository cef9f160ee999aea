import { createHmac, createPrivateKey, randomBytes, sign } from "node:crypto";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import postgres from "postgres";
import { createClient } from "redis";
import { uuidv7 } from "uuidv7";
import { insertRows, type Row } from "../../rig/row-table.ts";
import { listen } from "../../servers/listen.ts";
import { grouped } from "./grouped.ts";

/**
 * The lower bound of any control plane of this architecture for a hop: it reads lines, commits a decision and a spend
 * for each, spends once and signs, with answers of the real size. It does not verify, decide, limit, log or count.
 */
const { DATABASE_URL = "", REDIS_URL = "", ISSUER_JWK = "" } = process.env;
const issuer = createPrivateKey({ key: JSON.parse(ISSUER_JWK), format: "jwk" });
const siblingKey = randomBytes(32);
const sql = postgres(DATABASE_URL, { max: 2, connection: { synchronous_commit: "on" } });
const commit = grouped<readonly Row[]>((batch) => insertRows(sql, batch.flat()));
const redis = await createClient({ url: REDIS_URL }).connect();

async function authorize(body: string): Promise<string> {
  const { session_id, target, target_kind, data_class } = JSON.parse(body);
  const action_id = uuidv7();
  const decided_at = new Date();
  await commit([{ action_id, session_id, decided_at }]);
  return JSON.stringify({ action_id, ...allowed, target, target_kind, data_class, decided_at });
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
  accepts_taint: true,
  policy_version: 1,
  guarantee_level: "network",
};

async function hop(text: string, line: number): Promise<string> {
  const { session_id, token, target, target_kind, data_class } = JSON.parse(text);
  const startedMs = performance.now();
  // The signature identifies the token: nothing else of it is read.
  const key = token.slice(token.lastIndexOf(".") + 1);
  const first = await redis.set(key, "1", { condition: "NX", expiration: { type: "PX", value: 120_000 } });
  if (first === null) return JSON.stringify({ line, authorize: { status: 400, body: { error: "invalid_grant" } } });
  const [action_id, jti, decided_at] = [uuidv7(), uuidv7(), new Date()];
  await commit([
    { action_id, session_id, decided_at },
    { action_id: jti, session_id, decided_at },
  ]);
  const decide = performance.now() - startedMs;
  const decision = { action_id, ...allowed, target, target_kind, data_class, decided_at };
  const claims = claimsOf({ session_id, action_id, jti, aud: target, scope: data_class });
  const sibling = { token: authenticated(claims), expires_in: 60 };
  const grant = { access_token: signed(claims), issued_token_type, token_type: "Bearer", expires_in: 60 };
  return JSON.stringify({
    line,
    authorize: { status: 200, body: decision },
    exchange: { status: 200, body: grant },
    sibling,
    stages: { decide, exchange: performance.now() - startedMs - decide },
  });
}

const issued_token_type = "urn:ietf:params:oauth:token-type:jwt";
const encode = (text: string): string => Buffer.from(text).toString("base64url");
const headerOf = (alg: string, typ: string) => encode(JSON.stringify({ alg, typ, kid: "k".repeat(43) }));
const tokenHeader = headerOf("ES256", "at+jwt");
const siblingHeader = headerOf("HS256", "sibling+jwt");

/** Claims of a hop token's number and length. */
function claimsOf({ session_id: sid, action_id, jti, aud, scope }: Readonly<Record<string, string>>): string {
  const iat = Math.floor(Date.now() / 1000);
  const claims = {
    iss: "http://127.0.0.1:26405",
    sub: "bench",
    ...{ aud, scope },
    hop: 3,
    taint: "trusted_internal",
    ...{ jti, iat },
    exp: iat + 60,
    act: { sub: "bench-agent-1", act: { sub: "bench" } },
    sid,
    policy_version: 1,
    action_id,
    target_kind: "tool",
    privileged: false,
  };
  return encode(JSON.stringify(claims));
}

function signed(claims: string): string {
  const input = `${tokenHeader}.${claims}`;
  const signature = sign("sha256", Buffer.from(input), { key: issuer, dsaEncoding: "ieee-p1363" });
  return `${input}.${signature.toString("base64url")}`;
}

function authenticated(claims: string): string {
  const input = `${siblingHeader}.${claims}`;
  return `${input}.${createHmac("sha256", siblingKey).update(input).digest("base64url")}`;
}

/** Lines as they are done, those of one turn of the event loop in one piece; all in the first turn are a plain answer. */
function answerLines(body: string, response: ServerResponse): void {
  const lines = body.split("\n").slice(0, -1);
  let [left, done, isFlushDue] = [lines.length, "", false];
  const flush = () => {
    isFlushDue = false;
    const text = done;
    done = "";
    const headers = { "cache-control": "no-store", "content-type": "application/x-ndjson" };
    if (response.headersSent || left > 0) {
      if (!response.headersSent) response.writeHead(200, headers);
      return void (left > 0 ? response.write(text) : response.end(text));
    }
    response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(text) }).end(text);
  };
  for (const [index, line] of lines.entries()) {
    hop(line, index).then(
      (answer) => {
        done += `${answer}\n`;
        left -= 1;
        if (!isFlushDue) setImmediate(flush);
        isFlushDue = true;
      },
      () => response.destroy(),
    );
  }
}

async function answerDecision(body: string, response: ServerResponse): Promise<void> {
  const text = await authorize(body);
  const headers = { "cache-control": "no-store", "content-type": "application/json" };
  response.writeHead(200, { ...headers, "content-length": Buffer.byteLength(text) }).end(text);
}

listen(
  createServer((request: IncomingMessage, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk) => chunks.push(chunk));
    request.once("end", () => {
      const body = Buffer.concat(chunks).toString();
      if (request.url === "/v1/hops") return answerLines(body, response);
      answerDecision(body, response).catch(() => response.destroy());
    });
  }),
);
