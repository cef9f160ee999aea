import { generatePrivateJwk } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { AuthzClient, type AuthzClientOptions } from "../src/index.ts";
import { errorOf, fakeSession, read } from "./support/fake-client.ts";

describe("the constructor rejects invalid options", () => {
  test.each<[string, Partial<AuthzClientOptions>]>([
    ["no address", { baseUrl: "control" }],
    ["an address of another scheme", { baseUrl: "ftp://control" }],
    ["no time at all", { timeout: 0 }],
    ["time that is none", { timeout: Number.NaN }],
    ["more time than a day", { timeout: 86_401 }],
    ["an agent's key without its name", { identityKey: "key" }],
    ["an agent's name without its key", { agentName: "planner" }],
    ["a name that is none", { identityKey: "key", agentName: "The Planner" }],
    ["a bearer with a line break", { adminToken: "secret\nx: y" }],
    ["an empty bearer", { auditToken: "" }],
  ])("%s", (_, options) => {
    const making = () => new AuthzClient({ baseUrl: "https://control.test", ...options });
    expect(making).toThrow(TypeError);
    expect(making).not.toThrow(/secret/);
  });
});

test("an invalid key is reported at the first signature, without its text", async () => {
  const jwk = { ...(await generatePrivateJwk()), d: "secret" };
  const { svc, session } = await fakeSession({ identityKey: jwk, agentName: "planner" });
  const error = await errorOf(svc.authorize(session.context(), read));
  expect(error).toMatchObject({ name: "KeyRefused" });
  expect(String(error)).not.toContain("secret");
});

test("leaving its block closes the client", async () => {
  let closed: AuthzClient;
  {
    await using svc = new AuthzClient({ baseUrl: "https://control.test" });
    closed = svc;
  }
  expect(closed).toBeInstanceOf(AuthzClient);
  await closed.close();
});
