import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:net";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { type Child, type DevStack, spawnApp, spawnDev, waitUntil } from "@svc/test-support";
import { signInClient, signInSettings, startOpenIdProvider } from "@svc/test-support/openid-provider";
import postgres from "postgres";
import { request } from "undici";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { type Page, scriptedBrowser } from "../src/provider/scripted-browser.ts";
import { childrenOf, isAlive } from "./children-of.ts";

const undo: (() => unknown)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});

async function dev(...args: string[]): Promise<DevStack> {
  const stack = await spawnDev(["--port", "0", ...args]);
  undo.push(() => stack.stop());
  return stack;
}

function failingDev(...args: string[]): Child {
  const child = spawnApp({ main: "@svc/dev/main", args: ["dev", "--json", ...args], env: {} });
  undo.push(() => child.stop());
  return child;
}

function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "svc-cli-"));
  // As root, the account that the database runs as must be able to pass through.
  chmodSync(folder, 0o711);
  undo.push(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

const statusOf = async (url: string, headers: Record<string, string> = {}): Promise<number> => {
  const { statusCode, body } = await request(url, { headers });
  await body.dump();
  return statusCode;
};

/** The mode in the enforcement point's metrics. */
async function modeOf({ pep_admin }: DevStack): Promise<string | undefined> {
  const { body } = await request(`${pep_admin}/__svc/metrics`);
  return /^svc_pep_info\{[^}]*mode="(\w+)"/m.exec(await body.text())?.[1];
}

describe("a running stack", () => {
  let stack: DevStack;
  beforeAll(async () => {
    stack = await spawnDev(["--port", "0"]);
  });
  afterAll(() => stack.stop());

  test("prints one line with exactly the documented members", () => {
    const { child, stop, ...line } = stack;
    expect(child.stdout().trim().split("\n")).toHaveLength(1);
    expect(Object.keys(line).sort()).toEqual([
      "admin_token",
      "audit_token",
      "control_plane",
      "database_url",
      "example_http",
      "example_mcp",
      "identity_token",
      "openid_provider",
      "pep",
      "pep_admin",
      "pep_config",
    ]);
    expect(stop).toBeTypeOf("function");
  });

  test("serves control plane, enforcement point and examples", async () => {
    expect(await statusOf(`${stack.control_plane}/readyz`)).toBe(200);
    expect(await statusOf(`${stack.pep_admin}/__svc/readyz`)).toBe(200);
    expect(await statusOf(`${stack.example_http}/entries/7`)).toBe(200);
    // The request has no Accept header that it supports.
    expect(await statusOf(stack.example_mcp)).toBe(406);
    expect(await statusOf(`${stack.pep}/ledger/entries/7`)).toBe(401);
  });

  test("has registered nothing", async () => {
    const { body } = await request(`${stack.control_plane}/v1/agents`, {
      headers: { authorization: `Bearer ${stack.admin_token}` },
    });
    expect(await body.json()).toMatchObject({ data: [] });
  });

  test("has a bearer of its own for audit reads, without admin rights", async () => {
    const headers = { authorization: `Bearer ${stack.audit_token}` };
    expect(await statusOf(`${stack.control_plane}/v1/audit/decisions`, headers)).toBe(200);
    expect(await statusOf(`${stack.control_plane}/v1/agents`, headers)).toBe(401);
  });

  test("has a database that its address opens", async () => {
    const sql = postgres(stack.database_url, { max: 1 });
    expect(await sql`select count(*)::int as rows from decision`).toEqual([{ rows: 0 }]);
    await sql.end();
  });

  test("applies a change of the upstreams file", async () => {
    expect(await modeOf(stack)).toBe("enforcing");
    const text = readFileSync(stack.pep_config, "utf8");
    writeFileSync(stack.pep_config, text.replaceAll("protocol: http", "protocol: http\n    mode: observe"));
    await waitUntil("the new mode to hold", async () => (await modeOf(stack)) === "observing");
  });

  test("has examples that refuse an invalid token", async () => {
    const headers = { authorization: "Bearer not.a.token", "x-svc-session": "s" };
    expect(await statusOf(`${stack.example_http}/entries/7`, headers)).toBe(401);
  });
});

describe("a stack ends", () => {
  test("on SIGTERM, with every process and its folder", async () => {
    const stack = await dev();
    const children = childrenOf(stack.child.pid);
    expect(children).toHaveLength(5);
    expect(await stack.child.stop()).toBe(0);
    expect(children.filter(({ pid }) => isAlive(pid))).toEqual([]);
    expect(existsSync(dirname(stack.pep_config))).toBe(false);
  });

  test("on SIGKILL, with every process", async () => {
    const stack = await dev();
    undo.push(() => rmSync(dirname(stack.pep_config), { recursive: true, force: true }));
    const children = childrenOf(stack.child.pid);
    stack.child.kill("SIGKILL");
    await waitUntil("the children to end", () => children.every(({ pid }) => !isAlive(pid)));
  });

  test("with any of its processes, and prints its last lines", async () => {
    const stack = await dev();
    const pep = childrenOf(stack.child.pid).find(({ command }) => command.includes("/pep/"));
    process.kill(pep?.pid ?? 0, "SIGKILL");
    expect(await stack.child.exited).toBe(1);
    expect(stack.child.output()).toMatch(/enforcement point ended \(SIGKILL\)[\s\S]*listening on/);
    expect(childrenOf(stack.child.pid)).toEqual([]);
  });
});

const signInAs = async (stack: DevStack, person: string, next = "/console"): Promise<Page> => {
  const browser = scriptedBrowser([stack.control_plane, stack.openid_provider ?? ""]);
  return browser.press(await browser.open(`${stack.control_plane}/sign-in?next=${next}`), `Continue as ${person}`);
};

describe("the OpenID provider", () => {
  test("has two people, one of whom opens the console; its pages and the printed lines say what it is", async () => {
    const child = spawnApp({ main: "@svc/dev/main", args: ["dev", "--port", "0"], env: {} });
    undo.push(() => child.stop());
    await waitUntil("the stack to run", () => child.hasExited() || child.stdout().includes("Ctrl-C"));
    const address = (row: string) => new RegExp(`${row} +(http:\\S+)`).exec(child.stdout())?.[1] ?? "";
    const stack = { control_plane: address("control plane"), openid_provider: address("OpenID provider") } as DevStack;
    expect(child.stdout()).toMatch(/OpenID provider .*for development only: no passwords/);
    const page = await scriptedBrowser([stack.control_plane, address("OpenID provider")]).open(
      `${stack.control_plane}/sign-in`,
    );
    expect(page.html).toContain("Development provider: it asks for no password.");
    const browser = scriptedBrowser([stack.control_plane, address("OpenID provider")]);
    for (const person of ["Ben Bitdiddle", "Ada Lovelace"]) {
      const mine = await browser.press(
        await browser.open(`${stack.control_plane}/sign-in?next=/me`),
        `Continue as ${person}`,
      );
      expect(mine.html).toContain(person);
    }
    expect(await signInAs(stack, "Ada Lovelace")).toMatchObject({ status: 200, url: { pathname: "/console" } });
    expect((await signInAs(stack, "Ben Bitdiddle")).html).toContain("SVC_CONSOLE_ROLES");
    expect(await signInAs(stack, "Ben Bitdiddle", "/me")).toMatchObject({ status: 200, url: { pathname: "/me" } });
  });

  test("is not started under --no-provider, or where the environment names another", async () => {
    const without = await dev("--no-provider", "--with-example");
    expect(without.openid_provider).toBeNull();
    expect(await statusOf(`${without.control_plane}/sign-in`)).toBe(404);
    expect(await challengeOf(without)).not.toContain("resource_metadata");
    await without.stop();
    const own = await startOpenIdProvider({ clients: [signInClient()] });
    undo.push(() => own.stop());
    const stack = await spawnDev(["--port", "0"], signInSettings(own));
    undo.push(() => stack.stop());
    expect(stack.openid_provider).toBeNull();
    const { headers } = await request(`${stack.control_plane}/sign-in`);
    expect(String(headers.location)).toMatch(new RegExp(`^${own.issuer}/`));
  });
});

/** What the guarded MCP server responds with to a request without a token. */
const challengeOf = async ({ pep }: DevStack): Promise<string> => {
  const { statusCode, headers, body } = await request(`${pep}/payments`, { method: "POST", body: "{}" });
  await body.dump();
  expect(statusCode).toBe(401);
  return String(headers["www-authenticate"]);
};

describe("an option", () => {
  test("--with-example registers agents that a session can begin with", async () => {
    const stack = await dev("--with-example");
    const { statusCode, body } = await request(`${stack.control_plane}/v1/consent`, {
      method: "POST",
      headers: { authorization: `Bearer ${stack.admin_token}`, "content-type": "application/json" },
      body: JSON.stringify({ scope: "expenses", user_sub: "alice" }),
    });
    await body.dump();
    expect(statusCode).toBe(201);
    expect(await challengeOf(stack)).toMatch(/resource_metadata="http:.*\/payments", scope="expenses"/);
  });

  test("--data-dir keeps what was recorded, --pep-config names the file, --mode observes", async () => {
    const dataDir = temporaryFolder();
    const file = join(dataDir, "mine.yaml");
    writeFileSync(file, "upstreams: []\n");
    const args = ["--data-dir", dataDir, "--pep-config", file, "--mode", "observe"];
    const first = await dev("--with-example", ...args);
    expect(first.pep_config).toBe(file);
    expect(await modeOf(first)).toBe("observing");
    await first.stop();
    const second = await dev(...args);
    const agents = await request(`${second.control_plane}/v1/agents`, {
      headers: { authorization: `Bearer ${second.admin_token}` },
    });
    expect(await agents.body.json()).toMatchObject({ data: [{ name: "auditor" }, { name: "planner" }] });
  });

  test("of the environment applies", async () => {
    const token = "a-token-of-my-own-0123456789abcdefghij";
    const stack = await spawnDev(["--port", "0"], { SVC_ADMIN_TOKEN: `me=${token}` });
    undo.push(() => stack.stop());
    expect(stack.admin_token).toBe(token);
    expect(await statusOf(`${stack.control_plane}/v1/agents`, { authorization: `Bearer ${token}` })).toBe(200);
  });
});

describe("a start that fails", () => {
  test("names a port in use, with a remedy", async () => {
    const server = createServer().listen(0, "127.0.0.1");
    undo.push(() => server.close());
    await waitUntil("the port to be taken", () => server.listening);
    const { port } = server.address() as { port: number };
    const child = failingDev("--port", String(port));
    expect(await child.exited).toBe(1);
    expect(child.output()).toContain(`port ${port} is in use`);
    expect(child.output()).toContain("--port 0");
  });

  test("prints the last lines of the process that did not start, and leaves none running", async () => {
    const file = join(temporaryFolder(), "bad.yaml");
    writeFileSync(file, "upstreams: 7\n");
    const child = failingDev("--port", "0", "--pep-config", file);
    expect(await child.exited).toBe(1);
    expect(child.output()).toMatch(/enforcement point ended[\s\S]*upstreams/);
    expect(child.stdout()).toBe("");
  });

  test("names a misspelt setting", async () => {
    const child = spawnApp({ main: "@svc/dev/main", args: ["dev"], env: { SVC_ADMIN_TOKNE: "x" } });
    undo.push(() => child.stop());
    expect(await child.exited).toBe(1);
    expect(child.output()).toMatch(/SVC_ADMIN_TOKNE/);
  });

  test.each([
    { args: ["--mode", "off"], message: /enforce, observe/ },
    { args: ["--port", "x"], message: /port number/ },
    { args: ["--prot", "0"], message: /--port/ },
    { args: ["--pep-config", "/nowhere.yaml"], message: /nowhere.yaml cannot be read/ },
  ])("names the fault of $args", async ({ args, message }) => {
    const child = failingDev(...args);
    expect(await child.exited).not.toBe(0);
    expect(child.output()).toMatch(message);
  });
});
