import { aTool } from "@svc/test-support";
import * as client from "openid-client";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { type PeopleStack, resource, startPeopleStack, stockClient } from "../src/people-stack.ts";

/** RFC 7523 with identity assertions of the provider: the organisation consented there. */
let stack: PeopleStack;
beforeAll(async () => {
  stack = await startPeopleStack();
  await stack.register("planner", {
    expenses: { hop_budget: 3, tools: [aTool("http:ledger/read")] },
    travel: { hop_budget: 2, tools: [aTool("http:trips/list")] },
  });
});
afterAll(() => stack.stop());

const grantType = "urn:ietf:params:oauth:grant-type:jwt-bearer";
const assertionType = "oauth-id-jag+jwt";
let count = 0;

const claims = (changes: object = {}) => {
  const now = Math.floor(Date.now() / 1_000);
  return {
    iss: stack.provider.issuer,
    aud: stack.issuer,
    sub: "ada",
    client_id: "notebook",
    jti: `assertion-${++count}`,
    iat: now,
    exp: now + 300,
    resource,
    scope: "expenses",
    ...changes,
  };
};

const grant = async (assertion: string, form: Record<string, string> = {}, clientId = "notebook") => {
  const { config } = await stockClient(stack, clientId);
  return client.genericGrantRequest(config, grantType, { assertion, ...form });
};

test("an assertion begins a session of the person at the resource, without a page", async () => {
  const tokens = await grant(await stack.provider.sign(assertionType, claims()));
  const { body } = await stack.redeem(tokens.access_token);
  expect(body).toMatchObject({ scope: "expenses", agent: "planner", client_id: "notebook" });
  const [event] = await stack.events("consent_granted", body.session_id);
  expect(event).toMatchObject({
    actor: stack.provider.issuer,
    details: { client_id: "notebook", assertion_sha256: expect.stringMatching(/^[\w-]{43}$/) },
  });
});

test("an assertion is good once; a second use ends what came of the first", async () => {
  const assertion = await stack.provider.sign(assertionType, claims());
  const tokens = await grant(assertion);
  await expect(grant(assertion)).rejects.toMatchObject({ error: "invalid_grant" });
  expect(await stack.redeem(tokens.access_token)).toMatchObject({ status: 404 });
});

test("the same assertion by many at once begins one session at most", async () => {
  const assertion = await stack.provider.sign(assertionType, claims());
  const before = (await stack.events("consent_granted")).length;
  const all = await Promise.allSettled(Array.from({ length: 8 }, () => grant(assertion)));
  expect((await stack.events("consent_granted")).length - before).toBe(1);
  for (const each of all) {
    if (each.status === "fulfilled") {
      expect(await stack.redeem(each.value.access_token)).toMatchObject({ status: 404 });
    }
  }
});

describe("an assertion is refused", () => {
  test.each<[string, string, object, Record<string, string>, string]>([
    ["of another kind: an ID token", "JWT", {}, {}, "invalid_grant"],
    ["of another provider", assertionType, { iss: "https://evil.test" }, {}, "invalid_grant"],
    ["for another server", assertionType, { aud: "https://other.test" }, {}, "invalid_grant"],
    ["for several servers", assertionType, { aud: ["SELF", "https://other.test"] }, {}, "invalid_grant"],
    ["for another client", assertionType, { client_id: "backend" }, {}, "invalid_grant"],
    ["that is over", assertionType, { iat: 1_000, exp: 1_300 }, {}, "invalid_grant"],
    ["without an end", assertionType, { exp: undefined }, {}, "invalid_grant"],
    ["without its name", assertionType, { jti: undefined }, {}, "invalid_grant"],
    ["without a person", assertionType, { sub: "" }, {}, "invalid_grant"],
    ["for a resource of another host", assertionType, { resource: "https://evil.test/x" }, {}, "invalid_target"],
    [
      "for another resource than the request's",
      assertionType,
      {},
      { resource: "https://tools.test/b" },
      "invalid_target",
    ],
    ["for less than is asked", assertionType, {}, { scope: "expenses travel" }, "invalid_scope"],
    ["for a scope that nothing grants", assertionType, { scope: "nothing" }, {}, "invalid_scope"],
  ])("%s", async (_name, typ, changes, form, error) => {
    const before = await stack.events("consent_granted");
    const all = claims(changes);
    const aud = [all.aud].flat().map((each) => (each === "SELF" ? stack.issuer : each));
    const assertion = await stack.provider.sign(typ, { ...all, aud: aud.length === 1 ? (aud[0] ?? "") : aud });
    await expect(grant(assertion, form)).rejects.toMatchObject({ error });
    expect(await stack.events("consent_granted")).toEqual(before);
  });

  test("of another key", async () => {
    const [header, payload] = (await stack.provider.sign(assertionType, claims())).split(".");
    await expect(grant(`${header}.${payload}.${"A".repeat(342)}`)).rejects.toMatchObject({ error: "invalid_grant" });
  });

  test("that is none", async () => {
    await expect(grant("nothing")).rejects.toMatchObject({ error: "invalid_grant" });
    await expect(grant("")).rejects.toMatchObject({ error: "invalid_request" });
  });
});
