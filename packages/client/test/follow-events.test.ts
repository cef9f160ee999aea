import { readFileSync } from "node:fs";
import { heartbeatText, pushText, resetText } from "@svc/test-support/push-text";
import { describe, expect, test } from "vitest";
import { ControlPlaneRejected, type PushedEvent } from "../src/index.ts";
import { errorOf, fakeClient } from "./support/fake-client.ts";
import { bearerOf, refused } from "./support/fake-plane.ts";

const route = "GET /v1/identity/revocations/stream";
const stream = (text: string) => new Response(text, { headers: { "content-type": "text/event-stream" } });

/** A client whose control plane gives one answer after the other. */
function following(...answers: readonly (() => Response)[]) {
  const { svc, plane } = fakeClient();
  let next = 0;
  plane.replies.set(route, () => (answers[next++] ?? (() => refused(503, "database_unavailable")))());
  return { svc, plane };
}

async function take(events: AsyncIterable<PushedEvent>, count: number): Promise<readonly PushedEvent[]> {
  const taken: PushedEvent[] = [];
  for await (const event of events) if (taken.push(event) === count) break;
  return taken;
}

describe("what is followed", () => {
  test("has the members of its kind, and the position to continue at", async () => {
    const text = heartbeatText("7.1") + pushText("session_revoked", { session_id: "s" }) + resetText;
    const { svc, plane } = following(() => stream(text));
    expect(await take(svc.identity.follow({ since: new Date(0) }), 3)).toEqual([
      { kind: "heartbeat", asOf: "2026-01-01T00:00:00.000Z", position: "7.1" },
      expect.objectContaining({ kind: "session_revoked", sessionId: "s", agent: null, position: "7.1" }),
      { kind: "reset", position: "7.1" },
    ]);
    const [sent] = plane.sent;
    expect(sent && bearerOf(sent)).toBe("identity-bearer");
    expect(sent?.url.searchParams.get("since")).toBe("1970-01-01T00:00:00.000Z");
  });

  test("continues after a cut and an outage, from the last position or a given one", async () => {
    const { svc, plane } = following(
      () => stream(heartbeatText("8.1")),
      () => refused(503, "database_unavailable"),
      () => stream(pushText("agent_revoked", { agent: "planner" })),
    );
    expect((await take(svc.identity.follow({ position: "7.1" }), 2)).map(({ kind }) => kind)).toEqual([
      "heartbeat",
      "agent_revoked",
    ]);
    expect(plane.sent.map(({ headers }) => headers.get("last-event-id"))).toEqual(["7.1", "8.1", "8.1"]);
  });

  test.each(["event: session_revoked\ndata: {}\n\n", "event: later_kind\ndata: {}\n\n", "data: no JSON\n\n"])(
    "is a reset where it cannot be read: %j",
    async (text) => {
      const { svc } = following(() => stream(text));
      expect(await take(svc.identity.follow(), 1)).toEqual([{ kind: "reset", position: undefined }]);
    },
  );

  test.each([
    [401, "unauthorized"],
    [400, "invalid_request"],
    [404, "route_not_found"],
  ])("ends with the refusal: %i %s", async (status, code) => {
    const { svc } = following(() => refused(status, code));
    const error = await errorOf(take(svc.identity.follow(), 1));
    expect(error).toBeInstanceOf(ControlPlaneRejected);
    expect(error).toMatchObject({ status, code, method: "GET", path: "/v1/identity/revocations/stream" });
  });

  test("ends with the reason of an abort, and quietly with the client", async () => {
    const { svc } = following(() => stream(heartbeatText("7.1")));
    const aborting = new AbortController();
    const reason = new Error("enough");
    const aborted = take(svc.identity.follow({}, { signal: aborting.signal }), 2);
    const closed = take(svc.identity.follow(), 2);
    setTimeout(() => aborting.abort(reason));
    expect(await errorOf(aborted)).toBe(reason);
    await svc.close();
    expect((await closed).length).toBeLessThan(2);
  });
});

test("the reference's example keeps its position, and reads the lists again after a reset", async () => {
  const page = readFileSync(new URL("reference/client.md", new URL("../../../docs/", import.meta.url)), "utf8");
  const [, code = ""] = /<!-- example: follow -->\n```ts\n([\s\S]*?)```/.exec(page) ?? [];
  const text = heartbeatText("8.1") + pushText("session_revoked", { session_id: "s" }) + resetText;
  const { svc, plane } = following(
    () => stream(text),
    () => refused(401, "unauthorized"),
  );
  const kept: unknown[] = [];
  const names = ["svc", "stored", "store", "readTheListsAgain", "console"];
  const run = Object.getPrototypeOf(async () => {}).constructor(...names, code);
  const note = async (value: unknown) => void kept.push(value);
  const running = run(
    svc,
    async () => "7.1",
    note,
    () => note("lists"),
    { log: note },
  );
  expect(await errorOf(running)).toBeInstanceOf(ControlPlaneRejected);
  expect(plane.sent[0]?.headers.get("last-event-id")).toBe("7.1");
  expect(kept).toEqual(["8.1", "ended: s", "8.1", "lists", "8.1"]);
});
