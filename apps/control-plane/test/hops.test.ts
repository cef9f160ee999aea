import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { GuardUnavailable } from "../src/ports/replay-guard.ts";
import type { HopLedger } from "../src/ports/spend-ledger.ts";
import { DatabaseUnavailable } from "../src/postgres/database.ts";
import { createApp } from "../src/routes/app.ts";
import { serve } from "../src/start/serve.ts";
import { type Caller, consent, hops, lineOf, type Plane, startReaderPlane, statuses } from "./hop-callers.ts";
import { type Json, query } from "./support.ts";

/** What no sequence of requests brings about: stores that fail, answer late, or change between two attempts. */

let plane: Plane;
beforeAll(async () => {
  plane = await startReaderPlane();
});
afterAll(() => plane.stop());

const rowsOf = async ({ session }: Caller) => ({
  decisions: await query<{ decision: string; action_id: string }>(
    plane.database.appUrl,
    "select decision, action_id from decision where session_id = $1 order by seq",
    [session],
  ),
  spends: await query<{ action_id: string }>(
    plane.database.appUrl,
    "select action_id from spend where session_id = $1",
    [session],
  ),
});

/** The ledger, whose first answers are given. */
const ledger = (
  take: (...args: Parameters<HopLedger["take"]>) => ReturnType<HopLedger["take"]> | undefined,
): HopLedger => ({
  take: (...args) => take(...args) ?? plane.deps.hops.take(...args),
});
const unspent = async (caller: Caller) => expect(statuses((await hops(plane, lineOf(caller)))[0])).toEqual([200, 200]);

describe("a line", () => {
  test("whose guard is silent spends nothing, and there is no token", async () => {
    const caller = await consent(plane);
    const claim = () => Promise.reject(new GuardUnavailable("silent"));
    const [answer] = await hops(plane.with({ guard: { ...plane.deps.guard, claim } }), lineOf(caller));
    expect(statuses(answer)).toEqual([200, 503]);
    expect(await rowsOf(caller)).toMatchObject({ decisions: [{ decision: "allow" }], spends: [] });
    await unspent(caller);
  });

  test("whose token is spent, though the guard forgot it, brings no token", async () => {
    const caller = await consent(plane);
    await unspent(caller);
    const claim = () => Promise.resolve("claimed" as const);
    const [answer] = await hops(plane.with({ guard: { ...plane.deps.guard, claim } }), lineOf(caller));
    expect([statuses(answer), answer?.sibling]).toEqual([[200, 400], undefined]);
    expect((await rowsOf(caller)).spends).toHaveLength(1);
  });

  test("is tried again under the same action after the state changed, and is no replay of itself", async () => {
    const caller = await consent(plane);
    const actions: string[] = [];
    const hopsOnce = ledger(({ actionId }) => {
      actions.push(actionId);
      return actions.length < 3 ? Promise.resolve({ kind: "stale" }) : undefined;
    });
    const [answer] = await hops(plane.with({ hops: hopsOnce }), lineOf(caller));
    expect(statuses(answer)).toEqual([200, 200]);
    expect([actions.length, new Set(actions).size]).toEqual([3, 1]);
    expect(await rowsOf(caller)).toMatchObject({
      decisions: [{ decision: "allow" }],
      spends: [{ action_id: actions[0] }],
    });
  });

  test("that is denied when it is tried again spends nothing, and its token serves another call", async () => {
    const caller = await consent(plane);
    const blocked = ledger(() =>
      plane
        .send("/v1/blocks/tool/http:ledger%2Fread", { method: "PUT", body: { reason: "r" } })
        .then(() => ({ kind: "stale" })),
    );
    const [answer] = await hops(plane.with({ hops: blocked }), lineOf(caller));
    expect(answer?.authorize?.body).toMatchObject({ decision: "deny", deny_reason: "TARGET_BLOCKED" });
    expect(await rowsOf(caller)).toMatchObject({ decisions: [{ decision: "deny" }], spends: [] });
    await plane.send("/v1/blocks/tool/http:ledger%2Fread", { method: "DELETE" });
    await unspent(caller);
  });

  test("whose state changes in every attempt is 503, and its token stays unspent", async () => {
    const caller = await consent(plane);
    const never = ledger(() => Promise.resolve({ kind: "stale" }));
    const [answer] = await hops(plane.with({ hops: never }), lineOf(caller));
    expect(statuses(answer)).toEqual([503, undefined]);
    expect(answer?.authorize?.body).toMatchObject({ error: { code: "audit_unavailable" } });
    await unspent(caller);
  });

  test("whose commit is unknown is 503, and its token counts as spent", async () => {
    const caller = await consent(plane);
    const unknown = ledger(() => Promise.reject(new DatabaseUnavailable("cut")));
    const [answer] = await hops(plane.with({ hops: unknown }), lineOf(caller));
    expect(statuses(answer)).toEqual([503, undefined]);
    expect(statuses((await hops(plane, lineOf(caller)))[0])).toEqual([200, 400]);
  });

  test("whose token could not be signed brings none", async () => {
    const caller = await consent(plane);
    const hopToken = () => Promise.reject(new Error("no key"));
    const [answer] = await hops(plane.with({ signer: { ...plane.deps.signer, hopToken } }), lineOf(caller));
    expect([statuses(answer), answer?.sibling]).toEqual([[200, 503], undefined]);
    expect((await rowsOf(caller)).spends).toHaveLength(1);
  });
});

test("over HTTP a slow line holds up no other", async () => {
  const [slow, fast] = [await consent(plane), await consent(plane)];
  const gate = Promise.withResolvers<void>();
  const gated = ledger((record, ...rest) =>
    record.sessionId === slow.session ? gate.promise.then(() => plane.deps.hops.take(record, ...rest)) : undefined,
  );
  const app = createApp({ ...plane.deps, hops: gated });
  const settings = { host: "127.0.0.1", port: 0, tls: undefined, onBadCertificate: () => {} };
  const serving = await serve(settings, async () => async (request) => app.fetch(request));
  onTestFinished(() => serving.drain(0));
  const response = await fetch(`${serving.url}/v1/hops`, {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: [lineOf(slow), lineOf(fast)].join("\n"),
  });
  const pieces = response.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  const next = async () => {
    const answer: Json = JSON.parse((await pieces?.next())?.value ?? "");
    return [answer.line, ...statuses(answer)];
  };
  expect(await next()).toEqual([1, 200, 200]);
  gate.resolve();
  expect(await next()).toEqual([0, 200, 200]);
  expect((await pieces?.next())?.done).toBe(true);
});
