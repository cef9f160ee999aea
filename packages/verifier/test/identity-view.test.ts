import { TestTime } from "@svc/test-support/test-time";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { AdmissionRefused, createVerifier, type VerifierOptions } from "../src/index.ts";
import { controlPlane } from "./support/control-plane.ts";
import { type CallFacts, callHeaders, dataClass, issuer, jwks, target } from "./support/tokens.ts";

/** Ends only what hangs. */
const patienceMs = 240_000;

const listPath = "/v1/identity/revocations";

async function setUp(options: Partial<VerifierOptions> = {}) {
  const plane = controlPlane();
  const time = new TestTime();
  const { monotonicMs, after } = time;
  const ages: number[] = [];
  const verifier = createVerifier({
    ...{ issuer, audience: target, jwks, freshnessSeconds: 60, monotonicMs, after, random: () => 0.5 },
    identityView: { url: `${plane.url}/`, token: "reader", refreshSeconds: 10 },
    sink: { gauge: (_name, value) => ages.push(value) },
    ...options,
  });
  onTestFinished(() => verifier.close());
  const admits = async (facts: CallFacts = {}) =>
    verifier.admit({ headers: await callHeaders(facts), dataClass }).then(
      () => "admitted",
      (error) => (error instanceof AdmissionRefused ? error.cause : error),
    );
  const listed = (count: number) => vi.waitFor(() => expect(plane.count(listPath)).toBe(count), patienceMs);
  /** Time passes, and every refresh that falls due on the way is over before more of it does. */
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n += 1) {
      await time.advance(1_000);
      await verifier.ready();
    }
  };
  return { plane, time, verifier, admits, listed, pass, ages };
}

test("the list is read with the bearer, first whole and then from its as_of on", async () => {
  const { plane, admits, pass } = await setUp();
  expect(await admits()).toBe("admitted");
  plane.state.asOf = "2026-01-01T00:00:10.000Z";
  await pass(10);
  const [first, second] = plane.state.requests;
  expect(first).toMatchObject({ path: listPath, authorization: "Bearer reader" });
  expect(first?.query.has("since")).toBe(false);
  expect(second?.query.get("since")).toBe("2026-01-01T00:00:00.000Z");
});

test("every tenth time the list is read whole", async () => {
  const { plane, admits, pass } = await setUp();
  await admits();
  await pass(200);
  const whole = plane.state.requests.flatMap(({ query }, index) => (query.has("since") ? [] : [index]));
  expect(whole).toEqual([0, 10, 20]);
});

describe("a revoked agent", () => {
  test.each<[string, CallFacts, string]>([
    ["calling", { agents: ["planner"] }, "revoked"],
    ["farther up the chain", { agents: ["planner", "clerk"] }, "revoked"],
    ["being called", { audience: "planner", targetKind: "agent", agents: ["clerk"] }, "revoked"],
    ["elsewhere", { agents: ["clerk"] }, "admitted"],
  ])("%s", async (_name, facts, want) => {
    const { plane, admits } = await setUp({ audience: [target, "planner"] });
    plane.state.revoked = ["planner"];
    expect(await admits(facts)).toBe(want);
  });

  test("is refused from the next refresh on, also one of a later page, and stays refused", async () => {
    const { plane, admits, pass } = await setUp();
    expect(await admits()).toBe("admitted");
    plane.state.pageSize = 2;
    plane.state.revoked = ["a", "b", "c", "d", "planner"];
    const before = plane.count(listPath);
    await pass(10);
    expect(plane.count(listPath)).toBe(before + 3);
    expect(await admits()).toBe("revoked");
    plane.state.revoked = [];
    await pass(100);
    expect(await admits()).toBe("revoked");
  });

  test("a human of the same name is not refused", async () => {
    const { plane, admits } = await setUp();
    plane.state.revoked = ["user-1"];
    expect(await admits()).toBe("admitted");
  });
});

describe("a view that is too old", () => {
  test("admits no call until it is read again", async () => {
    const { plane, admits, pass, ages } = await setUp();
    expect(await admits()).toBe("admitted");
    plane.state.failure = 503;
    await pass(60);
    expect(await admits()).toBe("admitted");
    await pass(1);
    expect(await admits()).toBe("stale_identity_view");
    plane.state.failure = undefined;
    await pass(10);
    expect(await admits()).toBe("admitted");
    expect(ages[0]).toBe(0);
  });

  test("that was never read admits no call", async () => {
    const { plane, admits } = await setUp();
    plane.state.failure = 401;
    expect(await admits()).toBe("stale_identity_view");
  });

  test("has its age from the start of the request", async () => {
    const { plane, time, admits, listed } = await setUp();
    const gate = Promise.withResolvers<void>();
    plane.state.gate = gate.promise;
    const first = admits();
    await listed(1);
    await time.advance(4_000);
    gate.resolve();
    expect(await first).toBe("admitted");
    plane.state.failure = 503;
    await time.advance(57_000);
    expect(await admits()).toBe("stale_identity_view");
  });

  test("still refuses a revoked agent as revoked", async () => {
    const { plane, time, admits } = await setUp();
    plane.state.revoked = ["planner"];
    expect(await admits()).toBe("revoked");
    plane.state.failure = 503;
    await time.advance(61_000);
    expect(await admits()).toBe("revoked");
  });
});

test.each<[string, object]>([
  ["a rolled-back as_of", { asOf: "2025-12-31T23:59:59.999Z" }],
  ["an as_of that is no time", { asOf: "yesterday" }],
  ["a list that never ends", { pageSize: 0, revoked: ["x"] }],
  ["an error", { failure: 500 }],
  ["a redirect", { failure: 302 }],
  ["a truncated list", { text: '{"data":[{"agent_id":"id","agent":"x"' }],
  ["a page of HTML", { text: "<html>maintenance</html>" }],
  ["a list over 2 MiB", { text: `"${"x".repeat(2 ** 21)}"` }],
])("%s is no refresh: the view becomes stale", async (_name, spoilt) => {
  const { plane, admits, pass } = await setUp();
  expect(await admits()).toBe("admitted");
  Object.assign(plane.state, spoilt);
  await pass(60);
  expect(await admits()).toBe("admitted");
  await pass(1);
  expect(await admits()).toBe("stale_identity_view");
});

test("no call waits for the view once it was read, and no call requests it", async () => {
  const { plane, admits } = await setUp();
  await admits();
  const before = plane.state.requests.length;
  plane.state.gate = new Promise(() => undefined);
  await Promise.all(Array.from({ length: 50 }, () => admits()));
  expect(plane.state.requests.length).toBe(before);
});
