import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEvents } from "../src/events/events.ts";
import type { Deps } from "../src/routes/deps.ts";
import { type Caller, call, consent, hops, lineOf, type Plane, startReaderPlane } from "./hop-callers.ts";
import { query, type TestApp } from "./support.ts";

let plane: Plane;
beforeAll(async () => {
  plane = await startReaderPlane();
});
afterAll(() => plane.stop());

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
    const caller = await consent(plane);
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
  const browse =
    (more: object = {}) =>
    ({ session, token }: Caller) =>
      plane.send("/v1/authorize", {
        token,
        body: { session_id: session, ...call, target: "http:ledger/web", ...more },
      });
  const observedDeny = browse({ data_class: "hr", enforced: false });

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
    ["of a call after untrusted data was read", {}, browse()],
    ["of a call after an observed deny of untrusted data", {}, observedDeny],
    ["of an observed call after an observed deny of untrusted data", { enforced: false }, observedDeny],
    ["of another session's token", { session_id: crypto.randomUUID() }, nothing],
  ])("%s: records, spans, counts and log lines", async (_name, request, prepare) => {
    const wanted = await left(byEndpoints, request, prepare);
    expect(wanted.emitted.length).toBeGreaterThan(0);
    expect(await left(byLine, request, prepare)).toEqual(wanted);
  });
});
