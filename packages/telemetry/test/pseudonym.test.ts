import { createHmac } from "node:crypto";
import fc from "fast-check";
import { expect, test } from "vitest";
import { createIdentities, pseudonym, pseudonymKinds } from "../src/index.ts";

// Computed apart from this code: printf '<len>:<kind>:<value>' | openssl dgst -sha256 -hmac <key>, first 32 characters.
const vectors = [
  ["telemetry-key", "agent", "planner", "890a648d37e9a0b845c8aef5736bf2f1"],
  ["telemetry-key", "act_chain", '["alice","planner"]', "6c460c4f65c00f49958654a0e2077ce9"],
  ["telemetry-key", "taint_source", "http:web/fetch", "f2b8622459c44b280142270852a5cda4"],
  ["telemetry-key", "agent", "", "ab1139f6c69eab25999d6d0f8b146e82"],
  ["schlüssel-ключ", "agent", "planner", "56218cf88a1eb1c81d48753589b69853"],
  ["schlüssel-ключ", "act_chain", '["zoë","planner"]', "bc7b2b9f84264b386d24606a758a257e"],
] as const;

test.each(vectors)("key %s, %s %s has the pseudonym of an independent implementation", (key, kind, value, expected) => {
  expect(pseudonym(key, kind, value)).toBe(expected);
});

test("pseudonyms are the specified HMAC for any key, kind and value", () => {
  fc.assert(
    fc.property(
      fc.string({ unit: "grapheme" }),
      fc.constantFrom(...pseudonymKinds),
      fc.string(),
      (key, kind, value) => {
        const full = createHmac("sha256", Buffer.from(key, "utf8")).update(`${kind.length}:${kind}:${value}`, "utf8");
        expect(pseudonym(key, kind, value)).toBe(full.digest("hex").slice(0, 32));
      },
    ),
  );
});

const who = { agent: "planner", actChain: ["alice", "planner"], taintSource: "http:web/fetch" };

test("identities are pseudonyms by default", () => {
  expect(createIdentities("telemetry-key", false)(who)).toEqual({
    "authz.agent_ref": "890a648d37e9a0b845c8aef5736bf2f1",
    "authz.act_chain_ref": "6c460c4f65c00f49958654a0e2077ce9",
    "authz.taint_source_ref": "f2b8622459c44b280142270852a5cda4",
  });
});

test("identities are names with disclosure on, without pseudonyms", () => {
  expect(createIdentities("telemetry-key", true)(who)).toEqual({
    "authz.agent": "planner",
    "authz.act_chain": '["alice","planner"]',
    "authz.taint_source": "http:web/fetch",
  });
});

test.each([true, false])("an identity that does not apply leaves no attribute (disclosure %s)", (disclose) => {
  const facts = createIdentities("telemetry-key", disclose)({ agent: null, taintSource: undefined });
  expect(Object.values(facts).filter((value) => value !== undefined)).toEqual([]);
});

test("cached pseudonyms equal computed ones, for any number of agents", () => {
  const identify = createIdentities("telemetry-key", false);
  for (let n = 0; n < 10_000; n += 1) identify({ agent: `agent-${n}` });
  for (const n of [0, 4095, 4096, 9_999]) {
    expect(identify({ agent: `agent-${n}` })["authz.agent_ref"]).toBe(
      pseudonym("telemetry-key", "agent", `agent-${n}`),
    );
  }
  const long = "a".repeat(5000);
  expect(identify({ agent: long })).toEqual(identify({ agent: long }));
});
