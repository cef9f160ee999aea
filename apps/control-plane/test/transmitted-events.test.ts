import { eventTypes } from "@svc/core";
import { aManifest, aTool } from "@svc/test-support";
import { verifyToken } from "@svc/tokens";
import { decodeJwt, decodeProtectedHeader } from "jose";
import { afterAll, afterEach, beforeEach, describe, expect, test } from "vitest";
import { type Json, registerAgent } from "./support.ts";
import { gateway, other, push, receiverHeader, sessionOf, startTransmitter } from "./transmitter-support.ts";

const { plane, sql, signals, streams, settled, endSession, create, endedSession, verified, deleteStreams, stop } =
  await startTransmitter();
afterEach(async () => void (await deleteStreams()));
afterAll(stop);

let agents = 0;
async function newAgent(): Promise<{ readonly id: string; readonly name: string }> {
  const name = `agent-${++agents}`;
  const { json } = await registerAgent(
    plane,
    name,
    aManifest(`scope-${agents}`, { tools: [aTool(`http:tool-${agents}/x`)] }),
  );
  return { id: String(json.agent_id), name };
}

test("the metadata names the endpoints, as Shared Signals 1.0 does", async () => {
  const { status, json } = await plane.send("/.well-known/ssf-configuration", { token: "" });
  expect([status, json]).toEqual([
    200,
    {
      spec_version: "1_0",
      issuer: "https://plane.test",
      jwks_uri: "https://plane.test/.well-known/jwks.json",
      delivery_methods_supported: ["urn:ietf:rfc:8935", "urn:ietf:rfc:8936"],
      configuration_endpoint: "https://plane.test/v1/signals/streams",
      status_endpoint: "https://plane.test/v1/signals/status",
      verification_endpoint: "https://plane.test/v1/signals/verification",
      authorization_schemes: [{ spec_urn: "urn:ietf:rfc:6750" }],
      default_subjects: "ALL",
    },
  ]);
});

describe("a receiver's stream", () => {
  test("is created, read, changed, replaced and deleted by the holder of its bearer's label alone", async () => {
    const made = await create({
      events_requested: [eventTypes.sessionRevoked, "urn:unknown"],
      description: "of gateway",
    });
    const { stream_id } = made;
    expect(made).toEqual({
      ...{ stream_id: expect.any(String), iss: "https://plane.test", aud: "gateway", description: "of gateway" },
      events_supported: expect.arrayContaining([eventTypes.sessionRevoked, eventTypes.accountDisabled]),
      events_requested: [eventTypes.sessionRevoked, "urn:unknown"],
      events_delivered: [eventTypes.sessionRevoked],
      delivery: {
        method: "urn:ietf:rfc:8936",
        endpoint_url: `https://plane.test/v1/signals/streams/${stream_id}/poll`,
      },
    });
    expect((await streams("POST", {})).status).toBe(409);
    const changed = await streams("PATCH", { stream_id, delivery: { ...push, authorization_header: "Bearer x" } });
    expect(changed.json).toEqual({ ...made, delivery: push });
    const replaced = await streams("PUT", { ...changed.json, description: undefined, delivery: push });
    expect(replaced.json.description).toBeUndefined();
    expect((await signals("/streams", { method: "GET" })).json).toEqual([replaced.json]);
    expect((await signals(`/streams?stream_id=${stream_id}`)).json).toEqual(replaced.json);
    for (const [path, method, body] of [
      [`/streams?stream_id=${stream_id}`, "GET"],
      [`/streams?stream_id=${stream_id}`, "DELETE"],
      ["/streams", "PATCH", { stream_id }],
      ["/streams", "PUT", { stream_id }],
      [`/status?stream_id=${stream_id}`, "GET"],
      ["/status", "POST", { stream_id, status: "paused" }],
      ["/verification", "POST", { stream_id }],
      [`/streams/${stream_id}/poll`, "POST", { returnImmediately: true }],
    ] as const) {
      const { status } = await signals(path, { method, token: other, ...(body && { body }) });
      expect([path, method, status]).toEqual([path, method, 404]);
    }
    expect((await signals(`/streams?stream_id=${stream_id}`, { method: "DELETE" })).status).toBe(204);
    expect((await signals("/streams", { method: "GET" })).json).toEqual([]);
  });

  test.each([
    ["plain HTTP", { delivery: { ...push, endpoint_url: "http://receiver.example/" } }],
    ["an address with credentials", { delivery: { ...push, endpoint_url: "https://a:b@receiver.example/" } }],
    ["another scheme", { delivery: { ...push, endpoint_url: "file:///etc/passwd" } }],
    ["no address", { delivery: { method: push.method } }],
    ["another method", { delivery: { method: "urn:ietf:rfc:9999" } }],
    ["a header that ends the line", { delivery: { ...push, authorization_header: "Bearer x\r\nhost: y" } }],
    ["events that are no list", { events_requested: "all" }],
  ])("is not created with %s", async (_name, body) => {
    expect((await streams("POST", body)).status).toBe(400);
  });

  test("is not changed in what is this service's", async () => {
    const { stream_id } = await create();
    for (const ours of [{ iss: "https://evil.test" }, { aud: "other" }, { events_delivered: [] }]) {
      expect((await streams("PATCH", { stream_id, ...ours })).status).toBe(400);
    }
  });

  test("has a receiver's credential sealed in the database, and in no answer", async () => {
    const { stream_id } = await create({ delivery: { ...push, authorization_header: receiverHeader } });
    const rows = JSON.stringify(await sql("select * from signal_stream"));
    expect(rows).toContain(String(stream_id));
    expect(rows).not.toContain("of-the-receiver");
    expect((await signals("/streams", { method: "GET" })).text).not.toContain("of-the-receiver");
  });
});

describe("by poll", () => {
  let stream: Json;
  beforeEach(async () => {
    stream = await create();
  });
  const poll = async (body: object = {}, app: Pick<typeof plane, "send"> = plane) => {
    const path = `/v1/signals/streams/${stream.stream_id}/poll`;
    const { status, json } = await app.send(path, { token: gateway, body: { returnImmediately: true, ...body } });
    expect(status).toBe(200);
    return { ids: Object.keys(json.sets ?? {}), sets: Object.values(json.sets ?? {}) as unknown as string[], json };
  };
  const sessionsIn = (sets: readonly string[]) => sets.map((set) => sessionOf(decodeJwt(set) as Json));

  test("an ended session is an event of CAEP, signed, for this receiver, until it is acknowledged", async () => {
    const session = await endedSession();
    const { ids, sets } = await poll();
    const claims = await verified(sets[0] ?? "");
    const seconds = expect.any(Number);
    expect(claims).toEqual({
      ...{ iss: "https://plane.test", aud: "gateway", iat: seconds, jti: ids[0], txn: ids[0] },
      sub_id: {
        format: "complex",
        session: { format: "opaque", id: session },
        user: { format: "iss_sub", iss: "https://plane.test", sub: "ada" },
      },
      events: { [eventTypes.sessionRevoked]: { event_timestamp: seconds } },
    });
    expect((await poll({}, plane.with({}))).ids).toEqual(ids);
    expect((await poll({ ack: ids })).ids).toEqual([]);
  });

  test("agents and keys are events too, and what has no type of event is left out", async () => {
    const { id, name } = await newAgent();
    const tool = "/v1/blocks/tool/http:ledger%2Fread";
    await plane.send(tool, { method: "PUT", body: { reason: "a test" } });
    await plane.send(tool, { method: "DELETE" });
    await plane.send(`/v1/agents/${id}/revoke`, { body: {} });
    const before = plane.deps.issuerKeys.current().signingKey().kid;
    await plane.send("/v1/keys/rotate", { body: { now: true } });
    await plane.send(`/v1/keys/${before}`, { method: "DELETE" });
    await settled();
    const { sets } = await poll();
    const claims = await Promise.all(sets.map((set) => verified(set)));
    const ofKey = (change_type: string) => ({
      [eventTypes.credentialChange]: expect.objectContaining({ credential_type: "signing-key", change_type }),
    });
    expect(claims.map(({ sub_id, events }) => [sub_id, events])).toEqual([
      [{ format: "uri", uri: `https://plane.test/v1/identity/agents/${name}` }, { [eventTypes.accountDisabled]: {} }],
      [{ format: "uri", uri: "https://plane.test" }, ofKey("create")],
      [{ format: "uri", uri: "https://plane.test" }, ofKey("revoke")],
    ]);
  });

  test("an event is verified by the published keys before our key was rotated, after it, and if it was fetched before", async () => {
    await endedSession();
    const before = await poll();
    await plane.send("/v1/keys/rotate", { body: { now: true } });
    await settled();
    const after = await poll();
    const sets = [...before.sets, ...after.sets];
    const claims = await Promise.all(sets.map((set) => verified(set)));
    expect(claims.map(({ jti }) => jti)).toEqual([...before.ids, ...after.ids]);
    expect(after.ids[0]).toBe(before.ids[0]);
    const kids = sets.map((set) => decodeProtectedHeader(set).kid);
    expect([kids.length, new Set(kids).size, kids[1]]).toEqual([3, 2, kids[2]]);
  });

  test("events are acknowledged in any order, in parts, and none is lost", async () => {
    const sessions = [await endedSession(), await endedSession(), await endedSession()];
    const first = await poll({ maxEvents: 2 });
    expect([sessionsIn(first.sets), first.json.moreAvailable]).toEqual([sessions.slice(0, 2), true]);
    const second = await poll({ ack: [first.ids[1]] });
    expect(sessionsIn(second.sets)).toEqual([sessions[0], sessions[2]]);
    const third = await poll({ setErrs: { [String(second.ids[1])]: { err: "invalid_request", description: "no" } } });
    expect(sessionsIn(third.sets)).toEqual([sessions[0]]);
    expect((await poll({ ack: [first.ids[0], crypto.randomUUID(), "x"] })).ids).toEqual([]);
    const later = await endedSession();
    expect(sessionsIn((await poll()).sets)).toEqual([later]);
  });

  test("a poll without events waits for one", async () => {
    let waiting = poll({ returnImmediately: false });
    const session = await endedSession();
    // It is held for ten seconds at most.
    if ((await waiting).ids.length === 0) waiting = poll({ returnImmediately: false });
    expect(sessionsIn((await waiting).sets)).toEqual([session]);
  });

  test("maxEvents 0 acknowledges alone", async () => {
    await endedSession();
    const { ids } = await poll();
    expect((await poll({ maxEvents: 0, ack: ids, returnImmediately: false })).json).toEqual({ sets: {} });
    expect((await poll()).ids).toEqual([]);
  });

  test("an event that commits late, after later ones, is sent too", async () => {
    const release = Promise.withResolvers<void>();
    const late = crypto.randomUUID();
    const began = Promise.withResolvers<void>();
    const slow = plane.stores.submissions.sql.begin(async (tx) => {
      await tx`with event as (insert into administrative_event (event_id, kind, ts, actor, session_id)
        values (${crypto.randomUUID()}, 'session_revoked', now(), 'a', ${late}) returning event_id)
        insert into pushed_event (event_id) select event_id from event`;
      began.resolve();
      await release.promise;
    });
    await began.promise;
    const prompt = await endSession();
    expect((await poll()).ids).toEqual([]);
    release.resolve();
    await slow;
    await settled();
    expect(sessionsIn((await poll()).sets)).toEqual([late, prompt]);
  });

  test("a paused stream holds events, a disabled one drops them", async () => {
    const { stream_id } = stream;
    const set = (status: string) => signals("/status", { body: { stream_id, status, reason: "a test" } });
    expect((await set("paused")).json).toEqual({ stream_id, status: "paused", reason: "a test" });
    const held = await endedSession();
    expect((await poll()).ids).toEqual([]);
    await set("enabled");
    const { ids, sets } = await poll();
    expect(sessionsIn(sets)).toEqual([held]);
    await poll({ ack: ids });
    await set("disabled");
    await endedSession();
    await set("enabled");
    const next = await endedSession();
    expect(sessionsIn((await poll()).sets)).toEqual([next]);
    expect((await signals(`/status?stream_id=${stream_id}`)).json).toMatchObject({ stream_id, status: "enabled" });
  });

  test("a verification comes with the receiver's state, and is acknowledged as others", async () => {
    const { stream_id } = stream;
    expect((await signals("/verification", { body: { stream_id, state: "s3cret" } })).status).toBe(204);
    const { ids, sets } = await poll();
    expect(await verified(sets[0] ?? "")).toMatchObject({
      sub_id: { format: "opaque", id: stream_id },
      events: { [eventTypes.verification]: { state: "s3cret" } },
    });
    expect((await poll({ ack: ids })).ids).toEqual([]);
  });

  test("a stream that was not polled for a day is disabled, and says so", async () => {
    await endedSession();
    await sql("update signal_stream set active_at = now() - interval '2 days'");
    expect((await poll()).ids).toEqual([]);
    const { ids, sets } = await poll();
    expect(decodeJwt(sets[0] ?? "").events).toMatchObject({ [eventTypes.streamUpdated]: { status: "disabled" } });
    expect((await signals(`/status?stream_id=${stream.stream_id}`)).json.status).toBe("disabled");
    expect((await poll({ ack: ids })).ids).toEqual([]);
  });

  test("a position that a restored database has not reached holds nothing back", async () => {
    await sql("update signal_stream set position_transaction = '9000000000000000000'");
    const session = await endedSession();
    expect(sessionsIn((await poll()).sets).includes(session)).toBe(true);
  });

  test.each(["admin-of-another-plane-0123456789abcdef", ""])("takes no other bearer: %j", async (token) => {
    expect((await signals(`/streams/${stream.stream_id}/poll`, { token, body: {} })).status).toBe(401);
  });

  test("a token of an event opens nothing, and is no hop token", async () => {
    await endedSession();
    const [set = ""] = (await poll()).sets;
    const { lookup } = plane.deps.issuerKeys.current();
    const options = { keys: lookup, issuer: "https://plane.test", nowSeconds: Date.now() / 1_000 };
    expect(await verifyToken("hop", set, options)).toMatchObject({ ok: false });
    expect(await verifyToken("transaction", set, options)).toMatchObject({ ok: false });
    for (const path of ["/v1/session/targets", "/v1/sessions", "/v1/signals/streams"]) {
      expect((await plane.send(path, { token: set })).status).toBe(401);
    }
  });
});
