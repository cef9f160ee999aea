import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { PushedKind } from "@svc/core";
import { heartbeatText, pushText, resetText } from "@svc/test-support/push-text";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { AdmissionRefused, createVerifier, type VerifierOptions } from "../src/index.ts";
import {
  type CallFacts,
  callHeaders,
  dataClass,
  issuer,
  issuerKey,
  jwks,
  sessionId,
  target,
} from "./support/tokens.ts";

/** Ends only what hangs. */
const patience = { timeout: 60_000, interval: 5 };

interface Followed {
  readonly query: URLSearchParams;
  readonly lastEventId: string | undefined;
  readonly response: ServerResponse;
}

/** A control plane whose list is empty, and whose push a test writes. */
async function pushingPlane() {
  const followed: Followed[] = [];
  const state = {
    ...{ lists: 0, status: 200 },
    /** Of the last request of the list. */
    since: null as string | null,
    /** Awaited before a list is answered. */
    gate: undefined as Promise<void> | undefined,
  };
  const server = createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://plane");
    if (pathname === "/v1/identity/revocations") {
      state.lists += 1;
      state.since = searchParams.get("since");
      await state.gate;
      const list = { data: [], page: { next_cursor: null, limit: 200 }, as_of: "2026-01-01T00:00:00.000Z" };
      response.setHeader("content-type", "application/json").end(JSON.stringify(list));
      return;
    }
    response.writeHead(state.status, { "content-type": "text/event-stream" });
    if (state.status !== 200) response.end();
    else response.flushHeaders();
    const lastEventId = request.headers["last-event-id"]?.toString();
    followed.push({ query: searchParams, lastEventId, response });
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(async () => {
    server.closeAllConnections();
    server.close();
    await once(server, "close");
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, followed, state };
}

async function setUp(options: Partial<VerifierOptions> = {}) {
  const plane = await pushingPlane();
  const verifier = createVerifier({
    ...{ issuer, audience: target, jwks, freshnessSeconds: 7_200, random: () => 0 },
    // Longer than the test: only the push can change what is refused.
    identityView: { url: plane.url, token: "reader", push: true, refreshSeconds: 3_600 },
    ...options,
  });
  onTestFinished(() => verifier.close());
  const outcome = async (facts: CallFacts = {}) =>
    verifier.admit({ headers: await callHeaders(facts), dataClass }).then(
      () => "admitted",
      (error) => (error instanceof AdmissionRefused ? error.cause : error),
    );
  const streams = (count: number) => vi.waitFor(() => expect(plane.followed).toHaveLength(count), patience);
  const comesTo = (want: string, facts?: CallFacts) =>
    vi.waitFor(async () => expect(await outcome(facts)).toBe(want), patience);
  await streams(1);
  const write = (text: string) => plane.followed.at(-1)?.response.write(text);
  return { plane, verifier, outcome, streams, comesTo, write };
}

describe("what is pushed refuses calls before the next refresh", () => {
  test.each<[PushedKind, object, string]>([
    ["agent_revoked", { agent: "planner" }, "revoked"],
    ["agent_quarantined", { agent: "planner" }, "revoked"],
    ["session_revoked", { session_id: sessionId }, "revoked"],
    ["block_set", { block: { kind: "agent", ref: "planner" } }, "revoked"],
    ["block_set", { block: { kind: "tool", ref: target } }, "revoked"],
    ["key_removed", { kid: issuerKey.kid }, "signature"],
    ["issuer_epoch_raised", { not_before: "2100-01-01T00:00:00.000Z" }, "expired"],
  ])("%s %j", async (kind, members, want) => {
    const { plane, outcome, comesTo, write } = await setUp();
    expect(await outcome()).toBe("admitted");
    const { lists } = plane.state;
    write(pushText(kind, members));
    await comesTo(want);
    expect(plane.state.lists).toBe(lists);
  });

  test("and concerns no other agent, session, target or key", async () => {
    const { outcome, comesTo, write } = await setUp();
    write(
      [
        pushText("session_revoked", { session_id: "another" }),
        pushText("block_set", { block: { kind: "tool", ref: "http:other/post" } }),
        pushText("key_removed", { kid: "another" }),
        pushText("agent_revoked", { agent: "clerk" }),
      ].join(""),
    );
    await comesTo("revoked", { agents: ["clerk"] });
    expect(await outcome()).toBe("admitted");
  });

  test("and a block of an MCP server its tools", async () => {
    const audience = "mcp:files/write_file";
    const { outcome, comesTo, write } = await setUp({ audience });
    expect(await outcome({ audience })).toBe("admitted");
    write(pushText("block_set", { block: { kind: "tool", ref: "mcp:files" } }));
    await comesTo("revoked", { audience });
  });

  test("until a block is lifted; an event that comes again changes nothing", async () => {
    const { comesTo, write } = await setUp();
    const block = { block: { kind: "agent", ref: "planner" } };
    write(pushText("block_set", block).repeat(2));
    await comesTo("revoked");
    write(pushText("block_lifted", block));
    await comesTo("admitted");
    write(pushText("session_revoked", { session_id: sessionId }) + pushText("block_lifted", block));
    await comesTo("revoked");
  });
});

test("a lift that comes again after another block admits nothing", async () => {
  const { outcome, comesTo, write } = await setUp();
  const block = { block: { kind: "agent", ref: "planner" } };
  const at = (second: number) => ({ ...block, ts: new Date(Date.UTC(2026, 0, 1, 0, 0, second)).toISOString() });
  const lift = pushText("block_lifted", at(1));
  write(pushText("block_set", at(0)) + lift);
  write(pushText("block_set", { block: { kind: "agent", ref: "clerk" } }));
  await comesTo("revoked", { agents: ["clerk"] });
  expect(await outcome()).toBe("admitted");
  write(pushText("block_set", at(2)) + lift + pushText("block_set", { block: { kind: "agent", ref: "scribe" } }));
  await comesTo("revoked", { agents: ["scribe"] });
  expect(await outcome()).toBe("revoked");
});

describe("the connection", () => {
  test("begins before the oldest token that is good, and after a cut continues from the last id", async () => {
    const { plane, streams, comesTo, write } = await setUp();
    const since = Date.parse(plane.followed[0]?.query.get("since") ?? "");
    expect(since).toBeLessThanOrEqual(Date.now() - 65_000);
    write(heartbeatText("10.1") + pushText("session_revoked", { session_id: sessionId }) + heartbeatText("11.1"));
    await comesTo("revoked");
    plane.followed[0]?.response.destroy();
    await streams(2);
    expect(plane.followed[1]).toMatchObject({ lastEventId: "11.1" });
    expect(plane.followed[1]?.query.has("since")).toBe(false);
  });

  test("that is refused an id begins anew", async () => {
    const { plane, streams, write } = await setUp();
    write(heartbeatText("10.1"));
    await vi.waitFor(() => {
      plane.state.status = 400;
      plane.followed.at(-1)?.response.end();
      expect(plane.followed.at(-1)).toMatchObject({ lastEventId: "10.1" });
    }, patience);
    const before = plane.followed.length;
    await vi.waitFor(
      () => expect(plane.followed.slice(before).some(({ query }) => query.has("since"))).toBe(true),
      patience,
    );
    await streams(plane.followed.length);
  });

  test("that is reset while the list is read has the whole list read after it", async () => {
    const { plane, verifier, write, comesTo } = await setUp();
    await verifier.ready();
    const { promise, resolve } = Promise.withResolvers<void>();
    plane.state.gate = promise;
    const { lists } = plane.state;
    write(resetText);
    await vi.waitFor(() => expect(plane.state.lists).toBe(lists + 1), patience);
    write(resetText + pushText("agent_revoked", { agent: "clerk" }));
    await comesTo("revoked", { agents: ["clerk"] });
    resolve();
    await vi.waitFor(() => expect(plane.state.lists).toBe(lists + 2), patience);
    expect(plane.state.since).toBe(null);
  });

  test.each([
    ["is reset", resetText],
    ["brings an event without its members", "event: session_revoked\ndata: {}\n\n"],
    ["brings an event that is no JSON", "data: no JSON\n\n"],
  ])("that %s has the whole list read at once", async (_name, text) => {
    const { plane, verifier, write } = await setUp();
    await verifier.ready();
    const { lists } = plane.state;
    write(text);
    await vi.waitFor(() => expect(plane.state.lists).toBe(lists + 1), patience);
  });

  test.each([
    "event: session_revoked\ndata: {}\n\n",
    "data: no JSON\n\n",
    "event: later_kind\ndata: {}\n\n",
    ": note\n\n",
  ])("is not disturbed by %j", async (text) => {
    const { comesTo, write } = await setUp();
    write(text + pushText("session_revoked", { session_id: sessionId }));
    await comesTo("revoked");
  });

  test("that is down leaves admissions to the refreshes", async () => {
    const { plane, outcome, verifier } = await setUp();
    plane.state.status = 404;
    plane.followed[0]?.response.destroy();
    await verifier.ready();
    expect(await outcome()).toBe("admitted");
  });

  test("is not opened where it was not asked for", async () => {
    const plane = await pushingPlane();
    const verifier = createVerifier({
      ...{ issuer, audience: target, jwks, identityView: { url: plane.url, token: "reader" } },
    });
    onTestFinished(() => verifier.close());
    await verifier.ready();
    expect(plane.followed).toEqual([]);
  });
});
