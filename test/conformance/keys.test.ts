import { waitUntil } from "@svc/test-support";
import { generatePrivateJwk } from "@svc/tokens";
import { decodeProtectedHeader } from "jose";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Api } from "./src/api.ts";
import { clerkSession, ledgerHops, registerLedger } from "./src/ledger.ts";
import { asOwner, type Pair, startOne, startPair } from "./src/stack.ts";

let pair: Pair;
let one: Api;
let other: Api;
const hops = ledgerHops("books");

beforeAll(async () => {
  pair = await startPair();
  ({ one, other } = pair);
  await registerLedger(one, "books");
}, 60_000);
afterAll(() => pair.stop());

interface Listed {
  readonly kid: string;
  readonly status: "next" | "active" | "superseded";
}

const admin = (api: Api) => ({ bearer: api.tokens.admin });
const list = async (api: Api): Promise<Listed[]> => (await api.call("GET", "/v1/keys", admin(api))).body.data;
const kidOf = async (api: Api, status: Listed["status"]) => (await list(api)).find((key) => key.status === status)?.kid;
const rotate = (api: Api, body?: object) =>
  api.call("POST", "/v1/keys/rotate", { ...admin(api), ...(body && { body }) });
const remove = (api: Api, kid: string) => api.call("DELETE", `/v1/keys/${kid}`, admin(api));
const raise = (api: Api, body?: object) =>
  api.call("POST", "/v1/issuer-epoch", { ...admin(api), ...(body && { body }) });
const published = async (api: Api): Promise<string[]> =>
  (await api.call("GET", "/.well-known/jwks.json")).body.keys.map(({ kid }: Listed) => kid);
const publishedEverywhere = (...kids: string[]) =>
  waitUntil(`${kids.length} keys to be published everywhere`, async () => {
    const sets = await Promise.all([one, other].map(published));
    return sets.every((set) => set.toSorted().join() === kids.toSorted().join());
  });
const signerOf = (token: string) => decodeProtectedHeader(token).kid;

/** What each endpoint that takes a hop token says of it: all of them 401, the exchange in its own shape. */
async function refusals(api: Api, session: string, token: string) {
  const unknown = "01a00000-0000-7000-8000-000000000000";
  const answers = [
    await api.authorize(session, token, hops.planner),
    await api.exchange(token, hops.planner, unknown),
    await api.renew(token, 1),
    await api.call("GET", "/v1/session/targets", { bearer: token }),
  ];
  return answers.map(({ status, body }) => `${status} ${body.error?.code ?? body.error}`);
}
const refusedEverywhere = ["401 unauthorized", "400 invalid_request", "401 unauthorized", "401 unauthorized"];

describe("rotating the issuer's key", () => {
  test("publishes the next one ten minutes before it signs, at every process, and once however often it is asked", async () => {
    const before = await kidOf(one, "active");
    const answers = await Promise.all([rotate(one), rotate(other), rotate(one, {}), rotate(other, { now: false })]);
    const [{ status, body } = { status: 0, body: {} }] = answers;
    expect(status).toBe(200);
    expect(new Set(answers.map(({ text }) => text)).size).toBe(1);
    expect(Date.parse(body.activates_at) - Date.now()).toBeGreaterThan(580_000);
    expect(Date.parse(body.activates_at) - Date.now()).toBeLessThanOrEqual(600_000);
    await publishedEverywhere(before ?? "", body.kid);
    expect(await list(other)).toEqual([
      expect.objectContaining({ kid: before, status: "active", superseded_at: body.activates_at }),
      expect.objectContaining({ kid: body.kid, status: "next", activates_at: body.activates_at, superseded_at: null }),
    ]);
    for (const api of [one, other]) expect(signerOf((await api.consent("books")).token)).toBe(before);
  });

  test("in an emergency lets the next one sign at once everywhere, and what the last one signed stays good", async () => {
    const [before, next] = [await kidOf(one, "active"), await kidOf(one, "next")];
    const { session, clerk } = await clerkSession(one, "books");
    const { status, body } = await rotate(one, { now: true });
    expect([status, body.kid]).toEqual([200, next]);
    for (const api of [other, one]) expect(signerOf((await api.consent("books")).token)).toBe(next);
    const { action, token } = await other.hop(session, clerk.token, hops.read);
    expect([signerOf(clerk.token), signerOf(token)]).toEqual([before, next]);
    expect((await one.chain(action)).body.complete).toBe(true);
    expect((await list(other)).map((key) => key.status)).toEqual(["superseded", "active"]);
  });

  test("in an emergency without a next one makes one, known to every process with its first token", async () => {
    const { body } = await rotate(one, { now: true });
    const { session, token } = await one.consent("books");
    expect(signerOf(token)).toBe(body.kid);
    expect((await other.authorize(session, token, hops.planner)).body.decision).toBe("allow");
    expect(await published(other)).toContain(body.kid);
  });

  test("is recorded with who did it", async () => {
    const { kid } = (await rotate(other, { now: true })).body;
    const events = await asOwner(
      pair.database,
      (sql) => sql`select kind, actor, details from administrative_event where details ->> 'kid' = ${kid}`,
    );
    expect(events).toEqual([
      { kind: "key_rotated", actor: "admin", details: { kid, activates_at: expect.any(String) } },
    ]);
  });

  test.each([
    ["text for now", { now: "yes" }],
    ["an unknown member", { at: 1 }],
  ])("refuses %s", async (_name, body) => {
    const answer = await rotate(one, body);
    expect([answer.status, answer.body.error.code]).toEqual([400, "invalid_request"]);
  });
});

describe("under a steady load of exchanges over two processes", () => {
  /** One session's life: each step renews, decides at the other process and exchanges; what was refused is told. */
  async function* steps(count: number, first: Api, second: Api): AsyncGenerator<string[]> {
    const { session, token: root } = await first.consent("books");
    let token = root;
    for (let step = 0; step < count; step++) {
      const [here, there] = step % 2 === 0 ? [first, second] : [second, first];
      const renewed = await here.renew(token, 2);
      const [use, next] = renewed.body.tokens ?? [];
      const decision = await there.authorize(session, use, hops.planner);
      const exchanged = await here.exchange(use, hops.planner, decision.body.action_id);
      yield [renewed, decision, exchanged].filter(({ status }) => status !== 200).map(({ text }) => text);
      token = next;
    }
  }

  test("no rotation refuses a valid token, not even while strangers present keys that nobody knows", async () => {
    const refused: string[] = [];
    const done = Array<number>(6).fill(0);
    let isRunning = true;
    const load = Promise.all(
      done.map(async (_, worker) => {
        for await (const answers of steps(
          12,
          ...(worker % 2 === 0 ? ([one, other] as const) : ([other, one] as const)),
        )) {
          refused.push(...answers);
          done[worker] = (done[worker] ?? 0) + 1;
        }
        done[worker] = Number.POSITIVE_INFINITY;
      }),
    ).finally(() => {
      isRunning = false;
    });
    const strangers = [one, other].map(async (api) => {
      while (isRunning) expect((await api.renew(tokenOfUnknownKey(), 1)).status).toBe(401);
    });
    let rotations = 0;
    while (isRunning) {
      expect((await rotate(rotations % 2 === 0 ? one : other, { now: true })).status).toBe(200);
      rotations += 1;
      // A request that meets three changes in a row is told to come again: none here meets more than two.
      const before = [...done];
      await waitUntil(
        "every worker to go on",
        () =>
          !isRunning || done.every((now, worker) => now > (before[worker] ?? 0) || now === Number.POSITIVE_INFINITY),
      );
    }
    await Promise.all([load, ...strangers]);
    expect(refused).toEqual([]);
    expect(rotations).toBeGreaterThan(3);
  }, 60_000);
});

describe("removing an issuer's key", () => {
  test("refuses at once, at every process, whatever it signed; what others signed stays good", async () => {
    const doomed = await one.consent("books");
    // Verified and remembered by both before it goes.
    for (const api of [one, other])
      expect((await api.authorize(doomed.session, doomed.token, hops.planner)).status).toBe(200);
    const kid = signerOf(doomed.token) ?? "";
    await rotate(one, { now: true });
    const spared = await one.consent("books");
    expect((await remove(one, kid)).status).toBe(204);
    for (const api of [other, one]) {
      expect(await refusals(api, doomed.session, doomed.token)).toEqual(refusedEverywhere);
      expect((await api.authorize(spared.session, spared.token, hops.planner)).body.decision).toBe("allow");
    }
    await waitUntil("it to be published nowhere", async () =>
      (await Promise.all([one, other].map(published))).every((kids) => !kids.includes(kid)),
    );
  });

  test("lets the next one sign from then on", async () => {
    const next: string = (await rotate(one)).body.kid;
    const active = await kidOf(one, "active");
    expect((await remove(other, active ?? "")).status).toBe(204);
    for (const api of [one, other]) expect(signerOf((await api.consent("books")).token)).toBe(next);
    expect(await kidOf(one, "next")).toBeUndefined();
  });

  test("that was to sign next leaves the present one signing", async () => {
    const [active, next] = [await kidOf(one, "active"), (await rotate(one)).body.kid];
    await remove(one, next);
    expect(signerOf((await other.consent("books")).token)).toBe(active);
    expect((await list(one)).find(({ kid }) => kid === active)).toMatchObject({
      status: "active",
      superseded_at: null,
    });
  });

  test("and every other one leaves a fresh one that signs", async () => {
    const before = await list(one);
    for (const { kid } of before) expect((await remove(one, kid)).status).toBe(204);
    const left = await list(other);
    expect(left).toMatchObject([{ status: "active" }]);
    expect(before.map(({ kid }) => kid)).not.toContain(left[0]?.kid);
    const { session, token } = await other.consent("books");
    expect((await one.authorize(session, token, hops.planner)).body.decision).toBe("allow");
  });

  test("never wakes a superseded one", async () => {
    const old = await kidOf(one, "active");
    const young: string = (await rotate(one, { now: true })).body.kid;
    await remove(one, young);
    expect([old, young]).not.toContain(signerOf((await one.consent("books")).token));
  });

  test("again is as good as once; one that never was is not found", async () => {
    const kid = (await rotate(one)).body.kid;
    expect((await remove(one, kid)).status).toBe(204);
    expect((await remove(other, kid)).status).toBe(204);
    const unknown = await remove(one, "no-such-key");
    expect([unknown.status, unknown.body.error.code]).toEqual([404, "key_not_found"]);
    const [row] = await asOwner(
      pair.database,
      (sql) => sql`
        select sealed_private_jwk,
          (select count(*)::int from administrative_event where kind = 'key_removed' and details ->> 'kid' = ${kid}) as events
        from signing_key where kid = ${kid}`,
    );
    expect(row).toEqual({ sealed_private_jwk: null, events: 1 });
  });

  test("while consents are given never leaves one with a token of it", async () => {
    let removed = false;
    const consents = Array.from({ length: 6 }, async (_, index) => {
      const made: { session: string; token: string; startedAfter: boolean }[] = [];
      do {
        const startedAfter = removed;
        made.push({ ...(await (index % 2 === 0 ? one : other).consent("books")), startedAfter });
      } while (!removed || !made.some(({ startedAfter }) => startedAfter));
      return made;
    });
    const active = (await kidOf(one, "active")) ?? "";
    await remove(one, active);
    removed = true;
    const late = (await Promise.all(consents)).flat().filter(({ startedAfter }) => startedAfter);
    for (const { token } of late) expect(signerOf(token)).not.toBe(active);
  });
});

describe("raising the issuer's epoch after a restore", () => {
  test("refuses every older token, ends every session, and what is issued right after is good", async () => {
    const before = await clerkSession(one, "books");
    const narrowed = await one.hop(before.session, before.clerk.token, hops.post);
    const stale = await other.consent("books");
    const kids = (await list(one)).map(({ kid }) => kid);
    const { status, body } = await raise(one, { reason: "restored from Monday" });
    const fresh = await other.consent("books");
    expect(status).toBe(200);
    expect(body).toEqual({
      not_before: expect.stringMatching(/\.\d{3}Z$/),
      kid: signerOf(fresh.token),
      revoked: expect.any(Number),
    });
    expect(body.revoked).toBeGreaterThanOrEqual(2);
    expect(kids).not.toContain(body.kid);

    for (const api of [other, one]) {
      expect(await refusals(api, stale.session, stale.token)).toEqual(refusedEverywhere);
      expect((await api.authorize(before.session, before.clerk.token, hops.read)).status).toBe(401);
      expect((await api.mint(narrowed.token, narrowed.action, {})).status).toBe(401);
      expect((await api.authorize(fresh.session, fresh.token, hops.planner)).body.decision).toBe("allow");
    }
    await publishedEverywhere(body.kid);
    for (const { session } of [before, stale]) {
      const read = await one.call("GET", `/v1/sessions/${session}`, { bearer: one.tokens.audit });
      expect(read.body).toMatchObject({
        status: "revoked",
        revoked_by: "admin",
        revoked_reason: "restored from Monday",
      });
    }
    const running = await one.call("GET", "/v1/sessions?status=active", { bearer: one.tokens.audit });
    expect(running.body.data.map(({ session_id }: { session_id: string }) => session_id)).toEqual([fresh.session]);
    const events = await asOwner(
      pair.database,
      (sql) => sql`select actor, reason, details from administrative_event where kind = 'issuer_epoch_raised'`,
    );
    expect(events).toEqual([
      { actor: "admin", reason: "restored from Monday", details: { not_before: body.not_before } },
    ]);
  });

  test("again ends what was consented to in between", async () => {
    const { session } = await one.consent("books");
    const { body } = await raise(other);
    expect(body.revoked).toBeGreaterThanOrEqual(1);
    const read = await one.call("GET", `/v1/sessions/${session}`, { bearer: one.tokens.audit });
    expect(read.body.revoked_reason).toBe("the issuer epoch was raised");
  });
});

describe("with a key of the settings", () => {
  test("the operator replaces it there: rotating and removing say so, and the epoch can still be raised", async () => {
    const jwk = await generatePrivateJwk();
    const { api, stop } = await startOne({ SVC_ISSUER_PRIVATE_KEY: JSON.stringify(jwk) });
    try {
      await registerLedger(api, "books");
      const { session, token } = await api.consent("books");
      const kid = signerOf(token) ?? "";
      expect(await list(api)).toEqual([
        { kid, status: "active", created_at: null, activates_at: null, superseded_at: null },
      ]);
      for (const answer of [await rotate(api), await rotate(api, { now: true }), await remove(api, kid)]) {
        expect([answer.status, answer.body.error.code]).toEqual([409, "issuer_key_configured"]);
        expect(answer.body.error.message).toContain("SVC_ISSUER_PRIVATE_KEY");
      }
      expect((await raise(api)).body).toMatchObject({ kid, revoked: 1 });
      expect((await api.authorize(session, token, hops.planner)).body.decision).not.toBe("allow");
      const fresh = await api.consent("books");
      expect((await api.authorize(fresh.session, fresh.token, hops.planner)).body.decision).toBe("allow");
    } finally {
      await stop();
    }
  }, 30_000);
});

/** Well-formed in everything but that no key of ours signed it. */
function tokenOfUnknownKey(): string {
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const header = part({ alg: "ES256", typ: "at+jwt", kid: "a".repeat(43) });
  return `${header}.${part({ iss: "https://issuer.test" })}.${Buffer.alloc(64).toString("base64url")}`;
}
