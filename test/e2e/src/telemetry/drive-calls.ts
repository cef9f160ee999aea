import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { request } from "node:http";
import type { Duplex } from "node:stream";
import type { BlockCause } from "@svc/core";
import { waitUntil } from "@svc/test-support";
import { type Answer, ask, type Question } from "./ask.ts";
import { bindCapBytes, type Surface } from "./surface.ts";

/** Calls through the enforcement points that cause each outcome and each block cause. */

const scope = "canary-calls";
const tool = (ref: string, more: object = {}) => ({ ref, data_classes: ["docs"], ...more });

export const registerCourier = async ({ api }: Surface): Promise<void> => {
  const { status, text } = await api.attest("canary-courier", {
    [scope]: {
      hop_budget: 2,
      tools: [
        tool("http:canary-app/read"),
        tool("http:canary-app/write", { privileged: true, access: "write" }),
        tool("http:canary-app/any"),
        tool("http:canary-app/socket"),
        tool("http:canary-app/tunnel"),
        tool("mcp:canary-files/search"),
      ],
    },
  });
  if (status !== 201) throw new Error(`registration: ${status} ${text}`);
};

export type Headers = Readonly<Record<string, string>>;

/** The headers of a new session's agent. */
export async function headersOf({ api }: Surface, more: object = {}): Promise<Headers> {
  const { session, token } = await api.consent(scope, { user_sub: "canary-user", ...more });
  return { authorization: `Bearer ${token}`, "x-svc-session": session };
}

const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

export async function callThrough(surface: Surface): Promise<void> {
  const { enforcing, observing } = surface;
  const headers = await headersOf(surface);
  for (const { url } of [enforcing, observing]) {
    await callEach(url, headers, url === enforcing.url);
    await openSocket(url, headers);
  }
  for (const [fault, request, answer] of unusable) {
    surface.hopLine.spoil(request, { kind: "replaced", by: answer });
    await blockedAs(surface, enforcing.url, fault);
    await write(observing.url, await headersOf(surface));
    surface.hopLine.heal();
  }
  await loseTheState(surface);
}

const json = { "content-type": "application/json" };

/** A request, and the cause of its block; undefined where it passes. */
interface Ask {
  readonly path: string;
  readonly question?: Question;
  readonly cause?: BlockCause;
}

const app = "/canary-app";
const get = (path: string, headers: Headers = {}, cause?: BlockCause): Ask => ({
  path: `${app}${path}`,
  question: { headers },
  ...(cause && { cause }),
});
const post = (path: string, body: string, cause?: BlockCause): Ask => ({
  path,
  question: { method: "POST", headers: json, body },
  ...(cause && { cause }),
});
const connect = (path: string, cause?: BlockCause): Ask => ({
  path,
  question: { method: "CONNECT" },
  ...(cause && { cause }),
});
const message = (method: string, params: object, cause?: BlockCause): Ask =>
  post("/canary-files", JSON.stringify({ jsonrpc: "2.0", id: 7, method, params }), cause);

const asks: readonly Ask[] = [
  get("/read/canary-id?q=canary-query", { "x-canary": "canary-header", baggage: "user=canary-baggage" }),
  get("/read/7", { traceparent, tracestate: "vendor=canary-state" }),
  get("/read/7", { traceparent: "canary-traceparent" }),
  post(`${app}/write`, '{"note":"canary-param"}'),
  post(`${app}/write`, "canary-body", "unbindable"),
  post(`${app}/write`, JSON.stringify({ note: "canary-long".repeat(bindCapBytes) }), "body_too_large"),
  get("/nowhere", {}, "policy"),
  get("/canary-path", {}, "unresolvable_call"),
  get("/read/%2e%2e/canary", {}, "unresolvable_call"),
  get("/read/7", { authorization: "Bearer canary-bearer" }, "unauthorized"),
  connect("canary-app.internal:443"),
  connect("canary-other.internal:443", "unresolvable_call"),
  message("initialize", { protocolVersion: "2025-06-18" }),
  message("tools/list", {}),
  message("tools/call", { name: "search", arguments: { q: "canary-argument" } }),
  message("tools/call", { name: "canary-undeclared", arguments: {} }, "policy"),
  message("resources/read", { uri: "file:///canary-resource" }, "unresolvable_call"),
];

/** Repeats each call until it has its expected result: on a busy machine one may time out. */
async function callEach(url: string, headers: Headers, isEnforcing: boolean): Promise<void> {
  for (const { path, question, cause } of asks) {
    await waitUntil(`${path} to end as ${cause ?? "passed"}`, async () => {
      const sent = { ...headers, ...(question?.headers as Headers | undefined) };
      const answer = await ask(url, path, { ...question, headers: sent });
      return !isEnforcing || answer.headers["x-svc-blocked"] === cause;
    });
  }
}

async function openSocket(url: string, headers: Headers): Promise<void> {
  const { hostname, port } = new URL(url);
  const sending = request({
    ...{ hostname, port, path: "/canary-app/socket?q=canary-query", agent: false },
    headers: {
      ...headers,
      connection: "Upgrade",
      upgrade: "websocket",
      "sec-websocket-version": "13",
      "sec-websocket-key": Buffer.from("canary-socket-k!").toString("base64"),
    },
  });
  sending.end();
  const [, socket] = (await once(sending, "upgrade")) as [unknown, Duplex];
  socket.destroy();
}

const answerOf = (status: string, body: string): string =>
  [
    `HTTP/1.1 ${status}`,
    "Content-Type: application/json",
    `Content-Length: ${Buffer.byteLength(body)}`,
    "Connection: close",
    "",
    body,
  ].join("\r\n");
const broken = answerOf("500 Internal Server Error", '{"canary":"canary-fault"}');

/** By the block's cause: the request whose response is replaced, and the replacement. */
const unusable: readonly (readonly [cause: BlockCause, request: string, answer: string])[] = [
  ["pdp_unreachable", "POST /v1/authorize", broken],
  ["exchange_unreachable", "POST /v1/token/exchange", broken],
  ["mint_unreachable", "POST /v1/token/transaction", broken],
  [
    "audit_unavailable",
    "POST /v1/authorize",
    answerOf("503 Service Unavailable", '{"error":{"code":"audit_unavailable","message":"canary"}}'),
  ],
];

const write = (url: string, headers: Headers): Promise<Answer> =>
  ask(url, "/canary-app/write", { method: "POST", headers: { ...headers, ...json }, body: '{"note":"canary-param"}' });

/**
 * Until it is blocked for that cause: kept-alive connections may deliver one more valid response. The first call of a
 * session takes each step apart.
 */
async function blockedAs(surface: Surface, url: string, cause: BlockCause): Promise<void> {
  await waitUntil(`a call that ends as ${cause}`, async () => {
    const { headers: answered } = await write(url, await headersOf(surface));
    return answered["x-svc-blocked"] === cause;
  });
}

/** A pool that cannot be stored is not used: after a crash its spent tokens would be unknown. */
async function loseTheState(surface: Surface): Promise<void> {
  const headers = await headersOf(surface);
  // A pool that is saved meanwhile keeps the folder.
  await waitUntil("a file in place of the folder", () => {
    rmSync(surface.stateDir, { recursive: true, force: true });
    writeFileSync(surface.stateDir, "no folder");
    return true;
  });
  const blocked = await ask(surface.enforcing.url, "/canary-app/read/7", { headers });
  if (blocked.headers["x-svc-blocked"] !== "other") throw new Error(`not blocked: ${blocked.status} ${blocked.text}`);
  rmSync(surface.stateDir);
}
