import { TestTime } from "@svc/test-support/test-time";
import { generatePrivateJwk, importAgentKey, type SigningKey, signIdentityAssertion, toJwks } from "@svc/tokens";
import { expect, onTestFinished, test } from "vitest";
import { AdmissionRefused, createVerifier, type VerifierOptions } from "../src/index.ts";
import { pinnedIdentities } from "../src/pinned-identities.ts";
import { controlPlane, type Identity } from "./support/control-plane.ts";
import { type CallFacts, dataClass, headersOf, hopClaims, issuer, jwks, sign, target } from "./support/tokens.ts";

const plannerKey = await importAgentKey(await generatePrivateJwk());
const otherKey = await importAgentKey(await generatePrivateJwk());
const enrolled = (key: SigningKey, more: Partial<Identity> = {}): Identity => ({
  status: "enrolled",
  keys: [key],
  ...more,
});
const agentPath = "/v1/identity/agents/planner";

async function setUp(options: Partial<VerifierOptions> = {}) {
  const plane = controlPlane();
  plane.state.identities.set("planner", enrolled(plannerKey));
  const time = new TestTime();
  const { monotonicMs, after } = time;
  const verifier = createVerifier({
    ...{ issuer, audience: target, jwks, freshnessSeconds: 60, monotonicMs, after, random: () => 0.5 },
    identityView: { url: plane.url, token: "reader", refreshSeconds: 10 },
    identityRequired: true,
    ...options,
  });
  onTestFinished(() => verifier.close());
  await verifier.ready();

  interface Assertion {
    readonly key?: SigningKey;
    readonly agent?: string;
    readonly audience?: string;
    readonly over?: string;
    readonly nowSeconds?: number;
  }
  const admits = async (assertion: Assertion | undefined, facts: CallFacts = {}) => {
    const token = await sign(hopClaims(facts));
    const {
      key = plannerKey,
      agent = "planner",
      audience = target,
      over = token,
      nowSeconds = Date.now() / 1000,
    } = assertion ?? {};
    const statement = { agent, audience, nowSeconds, jti: crypto.randomUUID() };
    const header = assertion && { "agent-identity": await signIdentityAssertion(key, statement, over) };
    return verifier.admit({ headers: headersOf(token, header), dataClass }).then(
      (admission) => admission.agent ?? "admitted",
      (error) => (error instanceof AdmissionRefused ? error.cause : error),
    );
  };
  /** Time passes, and every refresh that falls due on the way is over before more of it does. */
  const pass = async (seconds: number) => {
    for (let n = 0; n < seconds; n += 1) {
      await time.advance(1_000);
      await verifier.ready();
    }
  };
  return { plane, pass, admits };
}

test("an enrolled caller's assertion is verified and the admission names it", async () => {
  const { admits } = await setUp();
  expect(await admits({})).toBe("planner");
});

test("without identityRequired an assertion is optional, but must be valid where it is sent", async () => {
  const { admits } = await setUp({ identityRequired: false });
  expect(await admits(undefined)).toBe("admitted");
  expect(await admits({ key: otherKey })).toBe("identity_invalid");
});

test("with identityView off an assertion proves nothing", async () => {
  const { admits } = await setUp({ identityRequired: false, identityView: "off" });
  expect(await admits({ key: otherKey })).toBe("admitted");
});

type Assertion = Parameters<Awaited<ReturnType<typeof setUp>>["admits"]>[0];
const secondsFromNow = (seconds: number) => Date.now() / 1000 + seconds;

test.each<[string, Assertion | (() => Assertion), string]>([
  ["none", undefined, "identity_missing"],
  ["by another key", { key: otherKey }, "identity_invalid"],
  ["by another agent", { agent: "auditor", key: otherKey }, "identity_invalid"],
  ["for another target", { audience: "http:ledger/x" }, "identity_invalid"],
  ["over another token", { over: "other" }, "identity_invalid"],
  ["expired", () => ({ nowSeconds: secondsFromNow(-66) }), "identity_invalid"],
  ["from the future", () => ({ nowSeconds: secondsFromNow(30) }), "identity_invalid"],
])("an assertion %s: refused", async (_name, assertion, want) => {
  const { plane, admits } = await setUp();
  plane.state.identities.set("auditor", enrolled(otherKey));
  expect(await admits(typeof assertion === "function" ? assertion() : assertion)).toBe(want);
});

test("at hop 1, where the human has no key, any enrolled agent can sign and no other", async () => {
  const { admits } = await setUp();
  expect(await admits({}, { agents: [] })).toBe("planner");
  expect(await admits({ agent: "stranger" }, { agents: [] })).toBe("identity_invalid");
});

test.each<[string, Identity | undefined]>([
  ["never enrolled", { status: "none", keys: [], anchorVersion: 0 }],
  ["quarantined", { status: "quarantined", keys: [plannerKey] }],
  ["revoked", { status: "revoked", keys: [plannerKey] }],
  ["unknown", undefined],
])("the assertion of a caller that is %s is refused", async (_name, identity) => {
  const { plane, admits } = await setUp();
  if (identity) plane.state.identities.set("planner", identity);
  else plane.state.identities.delete("planner");
  expect(await admits({})).toBe("identity_invalid");
});

test("a caller's keys are read at its first call only, and once for concurrent calls", async () => {
  const { plane, admits } = await setUp();
  await Promise.all(Array.from({ length: 20 }, () => admits({})));
  await admits({});
  expect(plane.count(agentPath)).toBe(1);
});

test("a key replaced by a new enrollment is read in the background", async () => {
  const { plane, pass, admits } = await setUp();
  expect(await admits({})).toBe("planner");
  plane.state.identities.set("planner", enrolled(otherKey, { anchorVersion: 2 }));
  await pass(40);
  expect(await admits({ key: otherKey })).toBe("planner");
  expect(await admits({ key: plannerKey })).toBe("identity_invalid");
});

test("an identity that cannot be read, or was rolled back, admits no call", async () => {
  const { plane, pass, admits } = await setUp();
  expect(await admits({})).toBe("planner");
  plane.state.identities.set("planner", enrolled(plannerKey, { anchorVersion: 0 }));
  await pass(80);
  expect(await admits({})).toBe("stale_identity_view");
});

test("an identity that was requested before its agent was forgotten is read again, and not kept", async () => {
  const answers = [plannerKey, otherKey].map((key) => ({ key, ...Promise.withResolvers<void>() }));
  let requests = 0;
  const get = async () => {
    const { key, promise } = answers[requests++] ?? { key: otherKey, promise: undefined };
    await promise;
    const stated = { agent: "planner", status: "enrolled", anchor_version: 1, revoked: false };
    return { ...stated, jwks: toJwks([key]), as_of: "2026-01-01T00:00:00.000Z" };
  };
  const identities = pinnedIdentities(get, () => 0, 60_000);
  const kidsOf = async () => (await identities.keysOf("planner")).map(({ kid }) => kid);
  const before = kidsOf();
  identities.forget("planner");
  const after = kidsOf();
  for (const { resolve } of answers) resolve();
  expect(await Promise.all([before, after, kidsOf()])).toEqual(Array(3).fill([otherKey.kid]));
  expect(requests).toBe(2);
});
