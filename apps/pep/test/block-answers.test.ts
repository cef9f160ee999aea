import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";

const upstreams = [
  { name: "files", url: "http://127.0.0.1:1/mcp", protocol: "mcp", data_class: "docs" },
  { name: "told", url: "http://127.0.0.1:1/mcp", protocol: "mcp", data_class: "docs", denials: "result" },
  { name: "listed", url: "http://127.0.0.1:1/mcp", protocol: "mcp", data_class: "docs", filter_tool_lists: true },
  { name: "classless", url: "http://127.0.0.1:1/mcp", protocol: "mcp" },
  { name: "ledger", url: "http://127.0.0.1:1", routes: [] },
];

async function setup() {
  const running = await startedPep({ upstreams, settings: { SVC_PEP_BIND_CAP_BYTES: "1000" } });
  running.controlPlane.policies.set("mcp:files/write", { denyReason: "TAINT_BLOCKED" });
  running.controlPlane.policies.set("mcp:told/write", { denyReason: "TAINT_BLOCKED" });
  running.controlPlane.policies.set("mcp:told#prompts/get", { denyReason: "TAINT_BLOCKED" });
  const credentials = await running.session();
  const post = (path: string, body: string, headers: Record<string, string> = {}) =>
    fetch(`${running.url}${path}`, {
      method: "POST",
      headers: { ...credentials, "content-type": "application/json", ...headers },
      body,
    });
  return { ...running, credentials, post };
}

type Facts = Readonly<Record<"action_id" | "target" | "reason" | "remedy" | "link", string>>;

interface Told {
  readonly id: unknown;
  readonly error: { readonly code: unknown; readonly message: string; readonly data: Facts };
}

const told = async (response: Response): Promise<Told> => (await response.json()) as Told;
const message = (method: string, params?: object) => JSON.stringify({ jsonrpc: "2.0", id: 7, method, params });
const call = message("tools/call", { name: "write" });

describe("a deny in band", () => {
  test("has a code that no SDK uses for its own faults, and a text that a model can act on", async () => {
    const { post } = await setup();
    const response = await post("/files", call);
    const { id, error } = await told(response);
    expect([response.status, response.headers.get("x-svc-blocked"), id, error.code]).toEqual([
      200,
      "policy",
      7,
      -32010,
    ]);
    expect(error.message).toContain("mcp:files/write is denied: the session touched untrusted data (TAINT_BLOCKED");
    expect(error.message).toContain(error.data.action_id);
    expect(error.message).toContain("call it in a session that has read no untrusted data");
  });

  test("with denials: result is a tool's result that the model reads, under the same header", async () => {
    const { post } = await setup();
    const response = await post("/told", call);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([200, "policy"]);
    expect(await response.json()).toEqual({
      jsonrpc: "2.0",
      id: 7,
      result: {
        isError: true,
        content: [{ type: "text", text: expect.stringMatching(/^mcp:told\/write is denied: /) }],
        _meta: { "svc/denial": expect.objectContaining({ code: "policy", target: "mcp:told/write" }) },
      },
    });
  });

  test("has the facts of its text in data, each alone", async () => {
    const { post } = await setup();
    const { error } = await told(await post("/files", call));
    expect(error.data).toEqual({
      code: "policy",
      action_id: expect.any(String),
      deny_reason: "TAINT_BLOCKED",
      recoverable: false,
      consentable_scopes: [],
      target: "mcp:files/write",
      reason: "TAINT_BLOCKED",
      remedy: "call it in a session that has read no untrusted data, or declare that it accepts taint",
      link: "docs/troubleshooting.md#taint_blocked",
    });
    for (const fact of ["target", "reason", "remedy", "link"] as const) {
      expect(error.message).toContain(error.data[fact]);
    }
  });

  test("names the tools of that server that the caller may call, once a list was read", async () => {
    const { post, controlPlane } = await setup();
    for (const target of ["mcp:listed", "mcp:listed/read", "mcp:listed/append", "mcp:files/other"])
      controlPlane.policies.set(target, {});
    controlPlane.policies.set("mcp:listed/write", { denyReason: "TARGET_NOT_DECLARED" });
    const denial = async () => (await told(await post("/listed", call))).error;
    expect((await denial()).message).not.toContain("instead");
    await post("/listed", message("tools/list"));
    const { message: text, data } = await denial();
    expect(data.remedy).toMatch(/, or call one that it declares; instead you may call: append, read$/);
    expect(text).toContain(data.remedy);
  });

  test.each(["SESSION_EXPIRED", "AGENT_REVOKED", "IDENTITY_REQUIRED"] as const)(
    "for %s names no other tool, which would be denied too",
    async (denyReason) => {
      const { post, controlPlane } = await setup();
      for (const target of ["mcp:listed", "mcp:listed/read"]) controlPlane.policies.set(target, {});
      await post("/listed", message("tools/list"));
      controlPlane.policies.set("mcp:listed/write", { denyReason });
      expect((await told(await post("/listed", call))).error.message).not.toContain("instead");
    },
  );

  test("with denials: result is a complete result to a client of MCP 2026-07-28, which takes no other", async () => {
    const { post } = await setup();
    const _meta = { "io.modelcontextprotocol/protocolVersion": "2026-07-28" };
    const response = await post("/told", message("tools/call", { name: "write", _meta }));
    expect(await response.json()).toMatchObject({ result: { resultType: "complete", isError: true } });
  });

  test("with denials: result is an error still for what is no denied tool call", async () => {
    const { post, controlPlane } = await setup();
    expect(await (await post("/told", message("resources/read", { uri: "x" }))).json()).toHaveProperty("error");
    controlPlane.override = (_asked, response) => {
      response.destroy();
      return true;
    };
    expect(await (await post("/told", call)).json()).toMatchObject({ error: { code: -32603 } });
  });

  test("of a scope that the person could consent to names the scope", async () => {
    const { post, controlPlane } = await setup();
    controlPlane.policies.set("mcp:files/write", { denyReason: "SCOPE_NOT_CONSENTED", consentableScopes: ["travel"] });
    const { error } = await told(await post("/files", call));
    expect(error.message).toContain("ask the person to consent to one of these scopes: travel");
  });
});

describe("a message over the bind cap", () => {
  const long = (bytes: number) => message("tools/call", { name: "write", arguments: { a: "x".repeat(bytes) } });

  test("whose id can be read is answered in band, with the limit and its setting", async () => {
    const { post, controlPlane } = await setup();
    const response = await post("/files", long(2_000));
    expect(response.status).toBe(200);
    expect(await response.json()).toMatchObject({
      id: 7,
      error: { data: { code: "body_too_large" }, message: expect.stringMatching(/1000 bytes.*SVC_PEP_BIND_CAP_BYTES/) },
    });
    expect(controlPlane.asked).toEqual([]);
  });

  test.each([
    ["a notification", JSON.stringify({ jsonrpc: "2.0", method: "notifications/x", params: { a: "x".repeat(2_000) } })],
    ["no message", "x".repeat(2_000)],
    ["longer than what is read to answer it", long(2 ** 20)],
  ])("that is %s is 413", async (_name, body) => {
    const { post } = await setup();
    const response = await post("/files", body);
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([413, "body_too_large"]);
  });
});

describe("what cannot be read as one message is 400, each with its own text", () => {
  test.each([
    ["a batch", `[${call}]`, {}, /batch/],
    ["trailing bytes", `${call}x`, {}, /bytes beside it/],
    ["a repeated member", call.replace('"id":7', '"id":7,"id":8'), {}, /repeat a member/],
    ["another case", call.replace('"name"', '"Name"'), {}, /upper and lower case/],
    ["a null id", call.replace('"id":7', '"id":null'), {}, /never null/],
    ["another charset", call, { "content-type": "application/json; charset=utf-16" }, /not declared as JSON/],
    ["another type", call, { "content-type": "text/plain" }, /Content-Type: application\/json/],
  ])("%s", async (_name, body, headers, text) => {
    const { post } = await setup();
    for (const session of [{}, { "mcp-session-id": "s" }]) {
      const response = await post("/files", body, { ...headers, ...session });
      expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([400, "unresolvable_call"]);
      expect((await told(response)).error).toMatchObject({
        code: "unresolvable_call",
        message: expect.stringMatching(text),
      });
    }
  });

  test("a header that differs from the message is MCP's own 400", async () => {
    const { post } = await setup();
    const response = await post("/files", call, { "mcp-method": "ping" });
    expect(response.status).toBe(400);
    const { id, error } = await told(response);
    expect([id, error.code]).toEqual([7, -32020]);
    expect(error.message).toContain("Mcp-Method, Mcp-Name or an Mcp-Param header differs");
  });
});

test.each(["/files/beyond", "/nowhere", "/ledger/x", "//files"])(
  "a request for %s that carries a session is never answered 404",
  async (path) => {
    const { url, credentials } = await setup();
    const statusOf = async (headers: object) =>
      (await fetch(`${url}${path}`, { headers: { ...credentials, ...headers } })).status;
    expect(await statusOf({})).toBe(404);
    expect(await statusOf({ "mcp-session-id": "s" })).toBe(400);
    expect(await statusOf({ mcp_session_id: "s" })).toBe(400);
  },
);

describe("a block says what to change", () => {
  test.each([
    ["an upstream that is not there", "/nowhere", {}, /files, told, listed, classless, ledger/],
    ["a path without a route", "/ledger/x", {}, /upstream ledger has no route/],
    [
      "a path beyond an MCP endpoint",
      "/files/beyond",
      {},
      /upstream files is one MCP endpoint.*\/files of this listener/,
    ],
    ["no bearer", "/ledger/x", { authorization: "", "x-svc-session": "" }, /no bearer token.*SVC_PEP_SESSION_FILE/],
    ["another scheme", "/ledger/x", { authorization: "Basic c2VjcmV0", "x-svc-session": "s" }, /another scheme/],
    [
      "half a bearer",
      "/ledger/x",
      { authorization: "Bearer secret", "x-svc-session": "s" },
      /no token of this service/,
    ],
  ])("%s", async (_name, path, headers, text) => {
    const { url, credentials } = await setup();
    const given = Object.entries({ ...credentials, ...headers }).filter(([, value]) => value !== "");
    const body = await (await fetch(`${url}${path}`, { headers: Object.fromEntries(given) })).text();
    expect(JSON.parse(body).error.message).toMatch(text);
    expect(body).not.toMatch(/c2VjcmV0|Bearer secret/);
  });

  test("to a program too: the block's own reason, and the page about its cause", async () => {
    const { url, credentials } = await setup();
    const { details } = JSON.parse(await (await fetch(`${url}/ledger/x`, { headers: credentials })).text());
    expect(details).toMatchObject({
      ...{ action_id: null, deny_reason: null, target: null, reason: "no_route" },
      remedy: "call what its routes list, or add a route with a target and a data class",
      link: "docs/troubleshooting.md#unresolvable_call",
    });
  });

  test("a caller without a bearer does not learn which target a path is", async () => {
    const running = await startedPep({
      upstreams: [
        {
          name: "ledger",
          url: "http://127.0.0.1:1",
          routes: [{ methods: ["GET"], path: "/x", target: "http:ledger/secret", data_class: "docs" }],
        },
      ],
    });
    const text = await (await fetch(`${running.url}/ledger/x`)).text();
    expect(JSON.parse(text).details).toMatchObject({ target: null, reason: "no_bearer" });
    expect(text).not.toContain("secret");
  });

  test("a tool without a data class", async () => {
    const { post } = await setup();
    const { error } = await told(await post("/classless", call));
    expect(error.message).toMatch(/upstream classless has no data class.*data_class/);
  });
});
