import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage, type ServerResponse } from "node:http";
import type { PushedKind } from "@svc/core";
import { waitUntil } from "@svc/test-support";
import { pushText, resetText } from "@svc/test-support/push-text";
import { describe, expect, test } from "vitest";
import { pushPath } from "./support/control-plane.ts";
import { enforcementToken } from "./support/control-plane-routes.ts";
import { type RunningPep, startedPep } from "./support/pep.ts";
import { callOf, initializing, isRunning, scripted } from "./support/stdio-bridge.ts";
import { startedUpstream } from "./support/upstream.ts";

const target = "http:app/any";
const routes = [{ methods: ["GET", "POST"], path: "/any", target, data_class: "docs" }];
/** Longer than the test: only the push can end a call. */
const never = 3_600_000;

const notes = { name: "notes", protocol: "mcp", command: scripted(), data_class: "docs" };

async function setUp(mode: "enforce" | "observe" = "enforce", settings = {}, redecideMs = never) {
  const upstream = await startedUpstream((_request, response) => {
    response.writeHead(200, { "content-type": "application/x-ndjson" }).write("{}\n");
  });
  const running = await startedPep({
    upstreams: [{ name: "app", url: upstream.url, mode, routes }, notes],
    limits: { redecideMs, bodyWaitMs: 50 },
    settings: { SVC_PEP_ENFORCEMENT_TOKEN: enforcementToken, ...settings },
  });
  const { controlPlane } = running;
  controlPlane.policies.set(target, {});
  const decide = (policy: object) => controlPlane.policies.set(target, policy);
  const followed = (count: number) => waitUntil("the push to be followed", () => controlPlane.pushed.length >= count);
  return { ...running, decide, followed, decisions: () => controlPlane.decisions().length };
}

type Following = Awaited<ReturnType<typeof setUp>>;

/** A call under way in a new session. */
async function callUnderWay({ url, session }: Pick<RunningPep, "url" | "session">) {
  const headers = await session();
  const sent: ClientRequest = httpRequest(`${url}/app/any`, { headers });
  sent.on("error", () => {});
  const [response] = (await once(sent.end(), "response")) as [IncomingMessage];
  response.on("error", () => {}).resume();
  const state = { headers, sessionId: headers["x-svc-session"], isOpen: true, leave: () => sent.destroy() };
  response.once("close", () => {
    state.isOpen = false;
  });
  return state;
}

const ends = (call: { readonly isOpen: boolean }) => waitUntil("the call to end", () => !call.isOpen);
const revoked = (sessionId: string) => pushText("session_revoked", { session_id: sessionId });
/** Every event before it has been read. */
async function readUpTo({ controlPlane, decisions }: Following, call: { readonly sessionId: string }) {
  const before = decisions();
  controlPlane.push(revoked(call.sessionId));
  await waitUntil("a decision on the witness", () => decisions() > before);
}

describe("a pushed act ends the calls that the next decision refuses, at once", () => {
  test.each<[PushedKind, (sessionId: string) => object]>([
    ["session_revoked", (session_id) => ({ session_id })],
    ["agent_revoked", () => ({ agent: "planner" })],
    ["agent_quarantined", () => ({ agent: "planner" })],
    ["agent_enrolled", () => ({ agent: "planner" })],
    ["block_set", () => ({ block: { kind: "agent", ref: "planner" } })],
    ["block_set", () => ({ block: { kind: "tool", ref: target } })],
    ["block_set", () => ({ block: { kind: "scope", ref: "expenses" } })],
    ["key_removed", () => ({ kid: "k" })],
    ["issuer_epoch_raised", () => ({ not_before: "2100-01-01T00:00:00.000Z" })],
  ])("%s", async (kind, members) => {
    const pep = await setUp();
    await pep.followed(1);
    const call = await callUnderWay(pep);
    pep.decide({ denyReason: "AGENT_REVOKED" });
    pep.controlPlane.push(pushText(kind, members(call.sessionId)));
    await ends(call);
    expect(await pep.metric('svc_pep_blocks_total{cause="policy"}')).toBe(1);
  });

  test.each([
    ["a reset", resetText],
    ["a kind of a later release", "event: person_paused\ndata: {}\n\n"],
    ["what is no JSON", "event: session_revoked\ndata: {\n\n"],
  ])("%s concerns every call", async (_name, text) => {
    const pep = await setUp();
    await pep.followed(1);
    const calls = [await callUnderWay(pep), await callUnderWay(pep)];
    pep.decide({ denyReason: "SESSION_REVOKED" });
    pep.controlPlane.push(text);
    for (const call of calls) await ends(call);
  });
});

describe("a server over stdio", () => {
  async function initialized() {
    const pep = await setUp();
    for (const each of ["mcp:notes", "mcp:notes/count", "mcp:notes/silent"]) pep.controlPlane.policies.set(each, {});
    await pep.followed(1);
    const credentials = await pep.session();
    const post = (body: string, more = {}) =>
      fetch(`${pep.url}/notes`, { method: "POST", headers: { ...credentials, ...more }, body });
    const headers = { "mcp-session-id": (await post(initializing)).headers.get("mcp-session-id") ?? "" };
    const call = async (name: string) =>
      (await (await post(callOf(name, name), headers)).json()) as {
        readonly result: { readonly calls: number; readonly pid: number };
      };
    const { pid } = (await call("count")).result;
    return { ...pep, call, pid, sessionId: credentials["x-svc-session"] };
  }
  const endOf = (pid: number) => waitUntil("the process to end", () => !isRunning(pid));

  test("has its call under way ended with the reason, and its process with the session", async () => {
    const { call, controlPlane, pid, sessionId } = await initialized();
    const answers: unknown[] = [];
    void call("silent").then((answer) => answers.push(answer));
    let counted = 1;
    await waitUntil("the call to reach the server", async () => (await call("count")).result.calls > ++counted);
    controlPlane.policies.set("mcp:notes/silent", { denyReason: "SESSION_REVOKED" });
    controlPlane.push(revoked(sessionId));
    await waitUntil("the call to end", () => answers.length === 1);
    expect(answers).toMatchObject([{ id: "silent", error: { data: { deny_reason: "SESSION_REVOKED" } } }]);
    await endOf(pid);
  });

  test("without a call under way has its process ended with the session, without a decision", async () => {
    const { controlPlane, pid, sessionId, decisions } = await initialized();
    const before = decisions();
    controlPlane.push(revoked(sessionId));
    await endOf(pid);
    expect(decisions()).toBe(before);
  });

  test("keeps the process of another session", async () => {
    const { controlPlane, pid, call } = await initialized();
    controlPlane.push(revoked("another"));
    expect((await call("count")).result.pid).toBe(pid);
  });
});

describe("what is pushed admits nothing, and ends nothing by itself", () => {
  test("where the decision is an allow the call continues; other sessions are not decided again", async () => {
    const pep = await setUp();
    await pep.followed(1);
    const [concerned, other] = [await callUnderWay(pep), await callUnderWay(pep)];
    const before = pep.decisions();
    pep.controlPlane.push(
      revoked(concerned.sessionId) + pushText("block_set", { block: { kind: "tool", ref: "http:b" } }),
    );
    await readUpTo(pep, concerned);
    expect(pep.decisions() - before).toBeLessThanOrEqual(2);
    expect(
      pep.controlPlane
        .decisions()
        .slice(before)
        .map(({ session_id }) => session_id),
    ).not.toContain(other.sessionId);
    expect([concerned.isOpen, other.isOpen]).toEqual([true, true]);
  });

  test.each<[PushedKind, object]>([
    ["block_lifted", { block: { kind: "tool", ref: target } }],
    ["quarantine_lifted", { agent: "planner" }],
  ])("%s: a refused call stays refused", async (kind, members) => {
    const pep = await setUp();
    await pep.followed(1);
    pep.decide({ denyReason: "TARGET_BLOCKED" });
    pep.controlPlane.push(pushText(kind, members));
    const { status } = await fetch(`${pep.url}/app/any`, { headers: await pep.session() });
    expect(status).toBe(403);
  });

  test("in observe mode the decision is recorded, and the call continues", async () => {
    const pep = await setUp("observe");
    await pep.followed(1);
    const call = await callUnderWay(pep);
    pep.decide({ denyReason: "SESSION_REVOKED" });
    await readUpTo(pep, call);
    await readUpTo(pep, call);
    expect(call.isOpen).toBe(true);
    call.leave();
  });
});

test("an act that comes between a call's decision and its token has it decided once more", async () => {
  const pep = await setUp();
  await pep.followed(1);
  const witness = await callUnderWay(pep);
  const headers = await pep.session();
  pep.controlPlane.override = async ({ path }) => {
    if (path !== "/v1/token/exchange") return undefined;
    pep.controlPlane.override = undefined;
    pep.controlPlane.push(revoked(headers["x-svc-session"]));
    await readUpTo(pep, witness);
    return undefined;
  };
  const sent = httpRequest(`${pep.url}/app/any`, { headers }).end();
  sent.on("error", () => {});
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  response.on("error", () => {}).resume();
  const of = () => pep.controlPlane.decisions().filter((each) => each.session_id === headers["x-svc-session"]);
  await waitUntil("a second decision", () => of().length === 2);
});

test("a thousand acts at once cause few decisions on a call, of which the last is newer than they", async () => {
  const pep = await setUp();
  await pep.followed(1);
  const call = await callUnderWay(pep);
  const before = pep.decisions();
  pep.controlPlane.push(revoked(call.sessionId).repeat(1_000));
  pep.decide({ denyReason: "SESSION_REVOKED" });
  pep.controlPlane.push(revoked(call.sessionId));
  await ends(call);
  expect(pep.decisions() - before).toBeLessThan(20);
});

test.each<[string, boolean, (sessionId: string) => string]>([
  ["renewed no more of an ended session", false, revoked],
  ["renewed no more of a revoked agent", false, () => pushText("agent_revoked", { agent: "planner" })],
  ["still renewed of a quarantined agent", true, () => pushText("agent_quarantined", { agent: "planner" })],
])("tokens are %s, and the next call is a recorded deny", async (_name, isRenewed, act) => {
  const pep = await setUp();
  await pep.followed(1);
  const session = async () => {
    const headers = await pep.session();
    const token = await pep.controlPlane.delegate(headers.authorization.replace("Bearer ", ""), "planner");
    return { ...headers, authorization: `Bearer ${token}` };
  };
  const call = await callUnderWay({ url: pep.url, session });
  call.leave();
  const witness = await callUnderWay(pep);
  pep.decide({ denyReason: "SESSION_REVOKED" });
  const renewals = () => pep.controlPlane.countOf("/v1/token/renew");
  const before = renewals();
  pep.controlPlane.push(act(call.sessionId));
  await readUpTo(pep, witness);
  const again = async () => (await fetch(`${pep.url}/app/any`, { headers: call.headers })).status;
  expect(await again()).toBe(403);
  expect(pep.controlPlane.decisions().at(-1)?.session_id).toBe(call.sessionId);
  // Allows of more calls than there are free tokens.
  pep.decide({});
  for (let n = 0; n < 3; n += 1) expect(await again()).toBe(200);
  expect(renewals() > before).toBe(isRenewed);
});

describe("where the push fails, the decision of each interval ends the call", () => {
  const answers: [string, (response: ServerResponse) => unknown][] = [
    ["a bearer that is refused", (response) => response.writeHead(401).end()],
    ["a release without it", (response) => response.writeHead(404).end()],
    ["a thousand readers already", (response) => response.writeHead(429, { "retry-after": "1" }).end()],
    ["a redirect", (response) => response.writeHead(302, { location: "/v1/elsewhere" }).end()],
    ["a page", (response) => response.writeHead(200, { "content-type": "text/html" }).end(revoked("s"))],
    ["an endless line", (response) => stream(response).write("x".repeat(100_000))],
    ["a cut", (response) => stream(response).destroy()],
    ["silence", (response) => stream(response)],
  ];
  const stream = (response: ServerResponse) => {
    response.writeHead(200, { "content-type": "text/event-stream" }).flushHeaders();
    return response;
  };

  test.each(answers)("%s", async (_name, answer) => {
    const pep = await setUp("enforce", {}, 200);
    pep.controlPlane.override = ({ path }, response) => {
      if (!path.startsWith(pushPath)) return undefined;
      answer(response);
      return true;
    };
    for (const response of pep.controlPlane.pushed) response.destroy();
    const call = await callUnderWay(pep);
    pep.decide({ denyReason: "SESSION_REVOKED" });
    await ends(call);
    expect(pep.controlPlane.countOf("/v1/elsewhere")).toBe(0);
  });

  test("a cut stream is resumed from the last position, and the operator reads one line", async () => {
    const pep = await setUp();
    await pep.followed(1);
    const call = await callUnderWay(pep);
    await readUpTo(pep, call);
    pep.decide({ denyReason: "SESSION_REVOKED" });
    pep.controlPlane.pushed[0]?.destroy();
    await pep.followed(2);
    const resumed = pep.controlPlane.asked.findLast(({ path }) => path.startsWith(pushPath));
    expect(resumed?.headers).toMatchObject({
      "last-event-id": "1.1",
      authorization: `Bearer ${enforcementToken}`,
    });
    pep.controlPlane.pushed[1]?.write(revoked(call.sessionId));
    await ends(call);
    expect(pep.reported.filter((line) => line.includes("push"))).toHaveLength(2);
  });
});

test("without the enforcement plane's bearer nothing is followed", async () => {
  const pep = await setUp("enforce", { SVC_PEP_ENFORCEMENT_TOKEN: "" });
  await callUnderWay(pep);
  expect(pep.controlPlane.countOf(pushPath)).toBe(0);
});
