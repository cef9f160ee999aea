import { eventTypes } from "@svc/core";
import { waitUntil } from "@svc/test-support";
import { exportJWK, generateKeyPair } from "jose";
import { afterAll, expect, test } from "vitest";
import { securityEvents } from "../src/identity-provider/security-events.ts";
import { json, startScriptedProvider } from "./scripted-provider.ts";
import { audience, eventClaims } from "./signals-support.ts";

const provider = await startScriptedProvider();
afterAll(() => provider.stop());

const next = await generateKeyPair("RS256", { extractable: true });
const nextJwk = { ...(await exportJWK(next.publicKey)), kid: "k2", alg: "RS256", use: "sig" };

const eventBy = (key: CryptoKey | undefined, kid: string) => {
  const ofNoPerson = { exp: undefined, sub: undefined };
  return provider.idToken({ ...eventClaims(provider), ...ofNoPerson }, key, { kid, typ: "secevent+jwt" });
};
const byOld = () => eventBy(undefined, "k1");
const byNext = () => eventBy(next.privateKey, "k2");

test("an event by the provider's next key is taken once the key set is read again, and by the removed key no more", async () => {
  const events = securityEvents({ issuer: new URL(provider.issuer), audience, clock: { nowMs: Date.now } });
  const outcome = async (token: Promise<string>) => {
    const verified = await events.verify(await token);
    return verified.kind === "event" ? verified.type : verified.err;
  };
  expect(await outcome(byOld())).toBe(eventTypes.accountDisabled);
  expect(await outcome(byNext())).toBe("invalid_key");
  provider.routes["/keys"] = json(() => ({ keys: [nextJwk] }));
  // The set is read once a second at most.
  await waitUntil("the key set to be read", async () => (await outcome(byNext())) === eventTypes.accountDisabled);
  expect(await outcome(byOld())).toBe("invalid_key");
});
