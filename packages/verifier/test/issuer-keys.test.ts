import { TestTime } from "@svc/test-support/test-time";
import { type SigningKey, toJwks } from "@svc/tokens";
import { expect, onTestFinished, test, vi } from "vitest";
import { AdmissionRefused, createVerifier } from "../src/index.ts";
import { controlPlane } from "./support/control-plane.ts";
import {
  callHeaders,
  dataClass,
  headersOf,
  hopClaims,
  issuer,
  issuerKey,
  newKey,
  sign,
  target,
} from "./support/tokens.ts";

/** Ends only what hangs. */
const patienceMs = 240_000;

const jwksPath = "/.well-known/jwks.json";

async function setUp(keys: SigningKey[] = [issuerKey]) {
  const plane = controlPlane();
  plane.state.jwks = toJwks(keys);
  const time = new TestTime();
  const { monotonicMs, after } = time;
  const verifier = createVerifier({
    ...{ issuer, audience: target, identityView: "off", jwksUrl: plane.jwksUrl, freshnessSeconds: 300 },
    ...{ monotonicMs, after, random: () => 0.5 },
  });
  onTestFinished(() => verifier.close());
  const admits = async (key = issuerKey) =>
    verifier.admit({ headers: headersOf(await sign(hopClaims(), key)), dataClass }).then(
      () => "admitted",
      (error) => (error instanceof AdmissionRefused ? error.cause : error),
    );
  const fetches = () => plane.count(jwksPath);
  const fetched = (count: number) => vi.waitFor(() => expect(fetches()).toBe(count), patienceMs);
  return { plane, time, verifier, admits, fetches, fetched };
}

test("the first call waits for the keys, and no later call requests them", async () => {
  const { admits, fetches } = await setUp();
  expect(await Promise.all(Array.from({ length: 20 }, () => admits()))).toEqual(Array(20).fill("admitted"));
  expect(fetches()).toBe(1);
});

test("unreachable from the start: no call is admitted until the keys can be read", async () => {
  const { plane, time, admits, fetched } = await setUp();
  plane.state.failure = 503;
  expect(await admits()).toBe("signature");
  plane.state.failure = undefined;
  await time.advance(1_000);
  await fetched(2);
  await vi.waitFor(async () => expect(await admits()).toBe("admitted"), patienceMs);
});

test("unreachable: calls are admitted within the freshness of the last valid set and refused after it", async () => {
  const { plane, time, admits } = await setUp();
  expect(await admits()).toBe("admitted");
  plane.state.failure = 503;
  await time.advance(299_000);
  expect(await admits()).toBe("admitted");
  await time.advance(2_000);
  expect(await admits()).toBe("signature");
});

test("a malformed response does not replace a valid set", async () => {
  const { plane, time, admits, fetched } = await setUp();
  expect(await admits()).toBe("admitted");
  plane.state.jwks = { error: "maintenance" };
  await time.advance(100_000);
  await fetched(2);
  expect(await admits()).toBe("admitted");
});

test("any number of unknown kids cause one request per cooldown", async () => {
  const { time, admits, fetches, fetched } = await setUp();
  expect(await admits()).toBe("admitted");
  const unknownKey = await newKey();
  for (let batch = 0; batch < 10; batch += 1) {
    await Promise.all(Array.from({ length: 100 }, () => admits(unknownKey)));
  }
  expect(fetches()).toBe(1);
  await time.advance(30_000);
  expect(new Set(await Promise.all(Array.from({ length: 100 }, () => admits(unknownKey))))).toEqual(
    new Set(["signature"]),
  );
  await fetched(2);
});

test("a new signing key is read at its first token", async () => {
  const { plane, time, admits } = await setUp();
  expect(await admits()).toBe("admitted");
  const next = await newKey();
  plane.state.jwks = toJwks([issuerKey, next]);
  await time.advance(30_000);
  expect(await Promise.all([admits(next), admits(next), admits()])).toEqual(["admitted", "admitted", "admitted"]);
});

test("a key removed from the set admits no call after the next refresh, cached tokens included", async () => {
  const { plane, time, verifier, fetched } = await setUp([issuerKey, await newKey()]);
  const headers = await callHeaders();
  await verifier.admit({ headers, dataClass });
  plane.state.jwks = toJwks([await newKey()]);
  await time.advance(101_000);
  await fetched(2);
  await vi.waitFor(
    () => expect(verifier.admit({ headers, dataClass })).rejects.toMatchObject({ cause: "signature" }),
    patienceMs,
  );
});

test("the freshness of a set starts with its request, not its response", async () => {
  const { plane, time, admits, fetched } = await setUp();
  const gate = Promise.withResolvers<void>();
  plane.state.gate = gate.promise;
  const first = admits();
  await fetched(1);
  await time.advance(4_000);
  gate.resolve();
  expect(await first).toBe("admitted");
  plane.state.failure = 503;
  await time.advance(297_000);
  expect(await admits()).toBe("signature");
});

test("a silent server is a failure after five seconds, and closing ends all refreshing", async () => {
  const { plane, time, verifier, admits, fetched } = await setUp();
  plane.state.gate = new Promise(() => undefined);
  const first = admits();
  await fetched(1);
  await time.advance(5_000);
  expect(await first).toBe("signature");
  verifier.close();
  expect(time.pendingTimers).toBe(0);
});
