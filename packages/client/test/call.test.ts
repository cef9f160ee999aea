import { generatePrivateJwk } from "@svc/tokens";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { sessionId } from "../../hop/test/support/tokens.ts";
import { authorizedTool } from "../src/index.ts";
import { errorOf, fakeSession, planner, post, read } from "./support/fake-client.ts";
import { toolUrl } from "./support/fake-plane.ts";

const request = { url: toolUrl };

test("a call carries the narrowed token and its session, and never the context's own", async () => {
  const { svc, plane, session } = await fakeSession();
  const response = await svc.call(session.context(), {
    ...read,
    request: { url: toolUrl, headers: { accept: "x/y" } },
  });
  expect(response.status).toBe(200);
  const [received] = plane.toolReceived;
  expect(received?.method).toBe("GET");
  expect(received?.headers.get("accept")).toBe("x/y");
  expect(received?.headers.get("x-svc-session")).toBe(sessionId);
  expect(received?.headers.get("authorization")).toMatch(/^Bearer ey/);
  expect([...(received?.headers.values() ?? [])].join()).not.toContain(session.rootGrant);
});

const ours = ["Authorization", "X-Svc-Session", "Txn-Token", "Agent-Identity", "X-Svc-Authorization"];

describe("the grant's headers replace the caller's, in any spelling and number", () => {
  const spelled = (name: string) =>
    fc
      .tuple(fc.array(fc.boolean(), { minLength: name.length, maxLength: name.length }), fc.boolean())
      .map(([upper, underscores]) => {
        const cased = [...name].map((letter, i) => (upper[i] ? letter.toUpperCase() : letter.toLowerCase())).join("");
        return underscores ? cased.replaceAll("-", "_") : cased;
      });
  const header = fc.tuple(fc.constantFrom(...ours).chain(spelled), fc.constantFrom("Bearer forged", "forged"));

  test("for any header of the caller", async () => {
    const { svc, plane, session } = await fakeSession({
      identityKey: await generatePrivateJwk(),
      agentName: "planner",
    });
    const context = session.context();
    const property = fc.asyncProperty(fc.array(header, { minLength: 1, maxLength: 6 }), async (headers) => {
      plane.toolReceived.length = 0;
      await svc.call(context, { ...post, params: { a: 1 }, request: { url: toolUrl, headers } });
      const [received] = plane.toolReceived;
      expect([...(received?.headers ?? [])].flat().join(" ")).not.toContain("forged");
      for (const name of ours.slice(0, 4)) expect(received?.headers.get(name)).toBeTruthy();
      return true;
    });
    await fc.assert(property, { numRuns: 50 });
  });

  test("and are removed where the grant has none", async () => {
    const { svc, plane, session } = await fakeSession();
    const headers = new Headers([
      ["txn-token", "forged"],
      ["agent-identity", "forged"],
    ]);
    await svc.call(session.context(), { ...read, request: { url: toolUrl, headers } });
    expect(plane.toolReceived[0]?.headers.has("txn-token")).toBe(false);
    expect(plane.toolReceived[0]?.headers.has("agent-identity")).toBe(false);
    expect(headers.get("txn-token")).toBe("forged");
  });
});

describe("the body", () => {
  test("is the JSON of params by default", async () => {
    const { svc, plane, session } = await fakeSession();
    const params = { amount: 5, to: "é" };
    await svc.call(session.context(), { ...post, params, request });
    const [received] = plane.toolReceived;
    expect(received?.method).toBe("POST");
    expect(received?.headers.get("content-type")).toBe("application/json");
    expect(received?.body).toBe(JSON.stringify(params));
    expect(plane.bodyOf("/v1/token/transaction").params).toEqual(params);
  });

  test("is the caller's, byte for byte, where it is the same JSON", async () => {
    const { svc, plane, session } = await fakeSession();
    const body = '{ "to": "x",\n  "amount": 5.0 }';
    await svc.call(session.context(), { ...post, params: { amount: 5, to: "x" }, request: { url: toolUrl, body } });
    expect(plane.toolReceived[0]?.body).toBe(body);
  });

  test.each<[string, RequestInit["body"]]>([
    ["another amount", '{"amount": 500}'],
    ["a member twice", '{"amount": 500, "amount": 5}'],
    ["no JSON", "amount=5"],
    ["a form", new URLSearchParams({ amount: "5" })],
  ])("of a privileged call is refused where it is not what is bound: %s", async (_, body) => {
    const { svc, plane, session } = await fakeSession();
    const call = { ...post, params: { amount: 5 }, request: { url: toolUrl, body } };
    expect(await errorOf(svc.call(session.context(), call))).toBeInstanceOf(TypeError);
    expect(plane.asked).not.toContain("/v1/token/exchange");
    expect(plane.toolReceived).toEqual([]);
  });

  test.each([
    ["a form", { "content-type": "application/x-www-form-urlencoded" }],
    ["another charset", { "content-type": "application/json; charset=utf-7" }],
    ["a compressed one", { "content-encoding": "gzip" }],
  ])("of a privileged call is refused where it is declared as %s", async (_, headers) => {
    const { svc, plane, session } = await fakeSession();
    const call = { ...post, params: { amount: 5 }, request: { url: toolUrl, headers } };
    expect(await errorOf(svc.call(session.context(), call))).toBeInstanceOf(TypeError);
    expect(plane.asked).not.toContain("/v1/token/exchange");
    expect(plane.toolReceived).toEqual([]);
  });

  test("of the caller is declared as JSON where the caller declares nothing", async () => {
    const { svc, plane, session } = await fakeSession();
    const body = '{ "amount": 5 }';
    await svc.call(session.context(), { ...post, params: { amount: 5 }, request: { url: toolUrl, body } });
    expect(plane.toolReceived[0]?.headers.get("content-type")).toBe("application/json");
  });

  test("of a privileged GET is rejected: the target would read nothing of what is bound", async () => {
    const { svc, plane, session } = await fakeSession();
    const call = { ...post, params: { amount: 5 }, request: { url: toolUrl, method: "GET" } };
    expect(await errorOf(svc.call(session.context(), call))).toBeInstanceOf(TypeError);
    expect(plane.toolReceived).toEqual([]);
  });

  test("of an unprivileged target is not checked", async () => {
    const { svc, plane, session } = await fakeSession();
    await svc.call(session.context(), { ...read, params: { amount: 5 }, request: { url: toolUrl, body: "anything" } });
    expect(plane.toolReceived[0]).toMatchObject({ method: "POST", body: "anything" });
  });
});

test("a request that cannot be sent is rejected before the decision", async () => {
  const { svc, plane, session } = await fakeSession();
  for (const odd of [{ url: "nonsense" }, { url: toolUrl, headers: { "bad name": "x" } }]) {
    expect(await errorOf(svc.call(session.context(), { ...read, request: odd }))).toBeInstanceOf(TypeError);
  }
  expect(plane.asked).not.toContain("/v1/authorize");
});

test("a redirect of the tool is returned, and no credential follows it", async () => {
  const { svc, plane, session } = await fakeSession();
  plane.replies.set("tool", () => new Response(null, { status: 307, headers: { location: "https://evil.test/" } }));
  const response = await svc.call(session.context(), { ...read, request });
  expect(response.status).toBe(307);
  expect(plane.toolReceived).toHaveLength(1);
});

test("a call to an agent is a hop to it", async () => {
  const { svc, plane, session } = await fakeSession();
  await svc.call(session.context(), { ...planner, request });
  expect(plane.bodyOf("/v1/authorize")).toMatchObject({ target: "planner", target_kind: "agent" });
});

describe("an authorized tool", () => {
  test("runs with its params and a grant for exactly these", async () => {
    const { svc, plane, session } = await fakeSession();
    const tool = authorizedTool(
      svc,
      { target: post.target, dataClass: post.dataClass },
      (params: { a: number }, grant) => [params.a, grant.headers()["Txn-Token"]],
    );
    const [a, transactionToken] = await tool(session.context(), { a: 1 }, { taint: "untrusted_external" });
    expect([a, transactionToken]).toEqual([1, expect.stringMatching(/^ey/)]);
    expect(plane.bodyOf("/v1/authorize")).toMatchObject({ target_kind: "tool", taint: "untrusted_external" });
  });

  test("does not run without a grant", async () => {
    const { svc, plane, session } = await fakeSession();
    plane.targets.set(read.target, { deny: "TARGET_NOT_DECLARED" });
    let runs = 0;
    const tool = authorizedTool(svc, { target: read.target, dataClass: read.dataClass }, () => runs++);
    expect(await errorOf(tool(session.context(), {}))).toMatchObject({ name: "PolicyDenied" });
    expect(runs).toBe(0);
  });
});
