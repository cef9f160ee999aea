import type { AdministrativeEvent } from "@svc/core";
import { aManifest, aTool } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Epochs } from "../src/ports/sessions.ts";
import { query, startPlane } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane();
  const manifest = aManifest("expenses", { hop_budget: 2, tools: [aTool("http:ledger/read")] });
  await plane.send("/v1/agents", { body: { name: "planner", manifest, override: {} } });
});
afterAll(() => plane.stop());

const consent = async (user = "ada"): Promise<string> =>
  String((await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: user } })).json.session_id);
const epochsOf = async (sessionId: string): Promise<Epochs | undefined> =>
  (await plane.deps.sessionState.read({ sessionId, agents: [], nowMs: Date.now() }))?.epochs;
const eventCount = async (): Promise<number> => {
  const [row] = await query<{ count: number }>(
    plane.database.appUrl,
    "select count(*)::int as count from administrative_event",
  );
  return row?.count ?? 0;
};

interface Act {
  readonly name: string;
  readonly act: (session: string) => Promise<{ status: number }>;
  /** Which epoch has to be fresh afterwards, so that no decision on the state before can be written any more. */
  readonly fresh: keyof Epochs | "none";
}

const send = (method: string, path: string, body?: object) => plane.send(path, { method, ...(body && { body }) });
const kidOf = async (): Promise<string> => {
  const { json } = await plane.send("/v1/keys");
  return String((json.data as unknown as { kid: string }[])[0]?.kid);
};

/** In this order: the acts that change nothing stand behind those that did. */
const acts: readonly Act[] = [
  { name: "ending a session", act: (id) => send("POST", `/v1/sessions/${id}/revoke`), fresh: "session" },
  {
    name: "ending sessions by a filter",
    act: () => send("POST", "/v1/sessions/revoke", { user_sub: "ada" }),
    fresh: "session",
  },
  {
    name: "ending sessions of a person without sessions",
    act: () => send("POST", "/v1/sessions/revoke", { user_sub: "eve" }),
    fresh: "none",
  },
  { name: "setting a block", act: () => send("PUT", "/v1/blocks/tool/t", { reason: "r" }), fresh: "denials" },
  { name: "setting it again", act: () => send("PUT", "/v1/blocks/tool/t", { reason: "r" }), fresh: "none" },
  { name: "changing it", act: () => send("PUT", "/v1/blocks/tool/t", { reason: "other" }), fresh: "denials" },
  { name: "lifting it", act: () => send("DELETE", "/v1/blocks/tool/t"), fresh: "denials" },
  { name: "lifting none", act: () => send("DELETE", "/v1/blocks/tool/t"), fresh: "none" },
  { name: "publishing the next key", act: () => send("POST", "/v1/keys/rotate"), fresh: "denials" },
  { name: "publishing it again", act: () => send("POST", "/v1/keys/rotate"), fresh: "none" },
  { name: "activating it at once", act: () => send("POST", "/v1/keys/rotate", { now: true }), fresh: "denials" },
  { name: "removing a key", act: async () => send("DELETE", `/v1/keys/${await kidOf()}`), fresh: "denials" },
];

test.each(acts)("$name renews the epoch of $fresh, together with its record", async ({ act, fresh }) => {
  const session = await consent();
  const [before, eventsBefore] = [await epochsOf(session), await eventCount()];
  expect((await act(session)).status).toBeLessThan(300);
  const after = await epochsOf(session);
  expect(after?.session === before?.session).toBe(fresh !== "session");
  expect(after?.denials === before?.denials).toBe(fresh !== "denials");
  if (fresh === "none") expect(await eventCount()).toBe(eventsBefore);
  else expect(await eventCount()).toBeGreaterThan(eventsBefore);
});

test("raising the issuer's epoch renews both epochs", async () => {
  const session = await consent();
  const before = await epochsOf(session);
  expect((await send("POST", "/v1/issuer-epoch")).status).toBe(200);
  const after = await epochsOf(session);
  expect(after?.session).not.toBe(before?.session);
  expect(after?.denials).not.toBe(before?.denials);
});

describe("an administrative act whose record cannot be written", () => {
  /** An event with an existing id: its insert fails. */
  const taken = async (): Promise<AdministrativeEvent> => {
    const [row] = await query<{ event_id: string }>(
      plane.database.appUrl,
      "select event_id from administrative_event limit 1",
    );
    return {
      eventId: row?.event_id ?? "",
      kind: "block_set",
      atMs: Date.now(),
      actor: "alice",
      sessionId: null,
      agent: null,
      reason: null,
      details: {},
    };
  };

  const refused = { code: "database_unavailable", cause: { message: expect.stringMatching(/administrative_event/) } };

  test("has no effect", async () => {
    const { sessions, blocks, issuerKeyStore } = plane.deps;
    const session = await consent();
    const [event, before, keys] = [await taken(), await epochsOf(session), await kidOf()];
    const ending = { by: "alice", atMs: Date.now(), reason: null };
    const block = { kind: "tool", ref: "t", reason: "r", untilMs: null, createdAtMs: Date.now() } as const;
    await expect(sessions.end(session, ending, () => event)).rejects.toMatchObject(refused);
    await expect(blocks.set(block, event)).rejects.toMatchObject(refused);
    const removal = issuerKeyStore.change(async (change) => {
      await change.remove(keys, Date.now());
      await change.record(event);
    });
    await expect(removal).rejects.toMatchObject(refused);
    expect(await epochsOf(session)).toEqual(before);
    expect((await plane.send(`/v1/sessions/${session}`)).json.status).toBe("active");
    expect((await plane.send("/v1/blocks")).json.data).toEqual([]);
    expect(await kidOf()).toBe(keys);
  });
});
