import { aManifest, aTool } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEvents } from "../src/events/events.ts";
import { GuardUnavailable } from "../src/ports/replay-guard.ts";
import type { HopLedger } from "../src/ports/spend-ledger.ts";
import { DatabaseUnavailable } from "../src/postgres/database.ts";
import type { Deps } from "../src/routes/deps.ts";
import { type Json, query, startPlane, type TestApp } from "./support.ts";

/** What no sequence of requests brings about: stores that fail, answer late, or change between two attempts. */

let plane: Awaited<ReturnType<typeof startPlane>>;
beforeAll(async () => {
  plane = await startPlane();
  const tools = [aTool("http:ledger/read"), aTool("http:ledger/list")];
  await plane.send("/v1/agents", {
    body: { name: "reader", manifest: aManifest("expenses", { tools }), override: {} },
  });
});
afterAll(() => plane.stop());

interface Caller {
  readonly session: string;
  readonly token: string;
}

async function consent(): Promise<Caller> {
  const { json } = await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada" } });
  return { session: String(json.session_id), token: String(json.root_grant) };
}

const call = { target: "http:ledger/read", target_kind: "tool", data_class: "finance.entries" };

/** A line, with a sibling that is used for the next one. */
const lineOf = ({ session, token }: Caller, more: object = {}) =>
  JSON.stringify({ session_id: session, token, ...call, body_settled: true, ...more });

async function hops(app: TestApp, ...lines: readonly string[]): Promise<readonly Json[]> {
  const headers = { "content-type": "application/x-ndjson" };
  const { text } = await app.send("/v1/hops", { token: "", body: lines.join("\n"), headers });
  const answers = text
    .trimEnd()
    .split("\n")
    .map((line): Json => JSON.parse(line));
  return answers.toSorted((a, b) => Number(a.line) - Number(b.line));
}

const statuses = (answer: Json | undefined) => [answer?.authorize?.status, answer?.exchange?.status];
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
    const caller = await consent();
    const claim = () => Promise.reject(new GuardUnavailable("silent"));
    const [answer] = await hops(plane.with({ guard: { ...plane.deps.guard, claim } }), lineOf(caller));
    expect(statuses(answer)).toEqual([200, 503]);
    expect(await rowsOf(caller)).toMatchObject({ decisions: [{ decision: "allow" }], spends: [] });
    await unspent(caller);
  });

  test("is tried again under the same action after the state changed, and is no replay of itself", async () => {
    const caller = await consent();
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
    const caller = await consent();
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
    const caller = await consent();
    const never = ledger(() => Promise.resolve({ kind: "stale" }));
    const [answer] = await hops(plane.with({ hops: never }), lineOf(caller));
    expect(statuses(answer)).toEqual([503, undefined]);
    expect(answer?.authorize?.body).toMatchObject({ error: { code: "audit_unavailable" } });
    await unspent(caller);
  });

  test("whose commit is unknown is 503, and its token counts as spent", async () => {
    const caller = await consent();
    const unknown = ledger(() => Promise.reject(new DatabaseUnavailable("cut")));
    const [answer] = await hops(plane.with({ hops: unknown }), lineOf(caller));
    expect(statuses(answer)).toEqual([503, undefined]);
    expect(statuses((await hops(plane, lineOf(caller)))[0])).toEqual([200, 400]);
  });

  test("whose token could not be signed brings none", async () => {
    const caller = await consent();
    const hopToken = () => Promise.reject(new Error("no key"));
    const [answer] = await hops(plane.with({ signer: { ...plane.deps.signer, hopToken } }), lineOf(caller));
    expect([statuses(answer), answer?.sibling]).toEqual([[200, 503], undefined]);
    expect((await rowsOf(caller)).spends).toHaveLength(1);
  });
});

test("a slow line holds up no other", async () => {
  const [slow, fast] = [await consent(), await consent()];
  const gate = Promise.withResolvers<void>();
  const gated = ledger((record, ...rest) =>
    record.sessionId === slow.session ? gate.promise.then(() => plane.deps.hops.take(record, ...rest)) : undefined,
  );
  const { createApp } = await import("../src/routes/app.ts");
  const response = await createApp({ ...plane.deps, hops: gated }).request("/v1/hops", {
    method: "POST",
    headers: { "content-type": "application/x-ndjson" },
    body: [lineOf(slow), lineOf(fast)].join("\n"),
  });
  const pieces = response.body?.pipeThrough(new TextDecoderStream())[Symbol.asyncIterator]();
  const first: Json = JSON.parse((await pieces?.next())?.value ?? "");
  expect([first.line, ...statuses(first)]).toEqual([1, 200, 200]);
  gate.resolve();
  const second: Json = JSON.parse((await pieces?.next())?.value ?? "");
  expect([second.line, ...statuses(second)]).toEqual([0, 200, 200]);
  expect((await pieces?.next())?.done).toBe(true);
});

/** Each span or event with its facts, counts and log line, without what no two calls share. */
function recording(): { readonly events: Deps["events"]; readonly emitted: unknown[] } {
  const emitted: unknown[] = [];
  const alike = (event: object) =>
    JSON.parse(JSON.stringify(event, (name, value) => (/_id$/.test(name) ? "an id" : value)));
  const telemetry = {
    identify: (identities: object) => identities,
    startSpan: (name: string, inbound: { traceparent?: string }) => ({ name, traceparent: inbound.traceparent }),
    finish: (span: object, event: object) => emitted.push([span, alike(event)]),
    emit: (event: object) => emitted.push(alike(event)),
    within: <T>(_span: unknown, work: () => T): T => work(),
  };
  return { events: createEvents(telemetry as never), emitted };
}

describe("authorize and exchange, and a line of hops, leave the same", () => {
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const byEndpoints = async (app: TestApp, { session, token }: Caller, request: object) => {
    const headers = { traceparent };
    const body = { session_id: session, ...call, ...request };
    const { json } = await app.send("/v1/authorize", { token, body, headers });
    const form = {
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: call.target,
      scope: call.data_class,
      action_id: String(json.action_id),
    };
    if (String(json.decision) !== "allow") return;
    await app.send("/v1/token/exchange", {
      token: "",
      body: new URLSearchParams(form).toString(),
      headers: { ...headers, "content-type": "application/x-www-form-urlencoded" },
    });
  };
  const byLine = (app: TestApp, caller: Caller, request: object) =>
    hops(app, lineOf(caller, { traceparent, ...request }));

  const left = async (
    way: typeof byEndpoints | typeof byLine,
    request: object,
    prepare: (caller: Caller) => Promise<unknown>,
  ) => {
    const caller = await consent();
    await prepare(caller);
    const { events, emitted } = recording();
    await way(plane.with({ events }), caller, request);
    const rows = await query<Record<string, unknown>>(
      plane.database.appUrl,
      "select d.*, s.kind, s.prover from decision d left join spend s using (action_id) where d.session_id = $1 order by d.seq",
      [caller.session],
    );
    const own = ["action_id", "seq", "session_id", "decided_at"];
    return {
      emitted,
      rows: rows.map((row) => Object.fromEntries(Object.entries(row).filter(([name]) => !own.includes(name)))),
    };
  };

  const nothing = async () => {};
  test.each<[string, object, (caller: Caller) => Promise<unknown>]>([
    ["of an allow", {}, nothing],
    ["of an observed allow", { enforced: false }, nothing],
    ["of a deny", { data_class: "hr" }, nothing],
    [
      "of a call whose token was spent before",
      {},
      (caller) => hops(plane, lineOf(caller, { target: "http:ledger/list" })),
    ],
    ["of a session that ended", {}, ({ session }) => plane.send(`/v1/sessions/${session}/revoke`, { body: {} })],
    ["of another session's token", { session_id: crypto.randomUUID() }, nothing],
  ])("%s: records, spans, counts and log lines", async (_name, request, prepare) => {
    const wanted = await left(byEndpoints, request, prepare);
    expect(wanted.emitted.length).toBeGreaterThan(0);
    expect(await left(byLine, request, prepare)).toEqual(wanted);
  });
});

test.each<[string, (kid: string) => Promise<unknown>]>([
  [
    "the removal of its key",
    async (kid) => {
      await plane.send("/v1/keys/rotate", { body: { now: true } });
      return plane.send(`/v1/keys/${kid}`, { method: "DELETE" });
    },
  ],
  ["a raised issuer epoch", () => plane.send("/v1/issuer-epoch", { body: {} })],
])("a sibling dies with %s", async (_name, act) => {
  const caller = await consent();
  const [answer] = await hops(plane, lineOf(caller));
  const token = String(answer?.sibling?.token);
  const { kid } = JSON.parse(Buffer.from(token.split(".")[0] ?? "", "base64url").toString());
  await act(kid);
  expect(statuses((await hops(plane, lineOf({ ...caller, token })))[0])).toEqual([401, undefined]);
});
