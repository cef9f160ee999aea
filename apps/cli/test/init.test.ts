import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { waitUntil } from "@svc/test-support";
import { Ajv } from "ajv";
import { afterAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { fileServer, serve, startEverything } from "./mcp-servers.ts";
import { type Ended, svc } from "./svc.ts";

const folders: string[] = [];
const newFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "svc-init-test-"));
  folders.push(folder);
  return folder;
};
afterAll(() => {
  for (const folder of folders) rmSync(folder, { recursive: true, force: true });
});

const shop = fileURLToPath(new URL("shop-openapi.yaml", import.meta.url));

/** Its parent is gone, and may leave it to a process that reaps late. */
const isEnded = (pid: number): boolean => /^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, "utf8"));

interface Initialized extends Ended {
  readonly folder: string;
  read(name: string): string;
}

/** `svc init` in an empty folder. */
async function init(args: readonly string[], { folder = newFolder(), env = {} } = {}): Promise<Initialized> {
  const [upstreams, manifest] = [join(folder, "pep.yaml"), join(folder, "clerk.yaml")];
  const [options, command] = args.includes("--")
    ? [args.slice(0, args.indexOf("--")), args.slice(args.indexOf("--"))]
    : [args, []];
  const ended = await svc(["init", "--upstreams", upstreams, "--manifest", manifest, ...options, ...command], env);
  return { ...ended, folder, read: (name) => readFileSync(join(folder, name), "utf8") };
}

const wroteNothing = ({ folder }: Initialized) =>
  !existsSync(join(folder, "pep.yaml")) && !existsSync(join(folder, "clerk.yaml"));

const clerk = ["--agent", "clerk", "--scope", "orders", "--yes"];

interface Manifest {
  readonly agent: string;
  readonly manifest: {
    readonly discovery?: readonly object[];
    readonly scopes: { readonly orders: { readonly tools: readonly { ref: string }[] } };
  };
}
const toolsOf = (text: string) => (parse(text) as Manifest).manifest.scopes.orders.tools;
const toolOf = (text: string, ref: string) => toolsOf(text).find((tool) => tool.ref === ref);

/** The comment above a tool. */
function commentOf(text: string, ref: string): string {
  const lines = text.split("\n");
  const at = lines.findIndex((line) => line.includes(`ref: ${ref},`));
  const above: string[] = [];
  for (let line = at - 1; lines[line]?.trim().startsWith("#"); line--)
    above.unshift(lines[line]?.trim().slice(2) ?? "");
  return above.join("\n");
}

describe("svc init of servers over MCP", () => {
  test("declares what a server over stdio offers, by its hints", async () => {
    const initialized = await init([
      ...clerk,
      "--stdio",
      `files=${fileServer(newFolder())}`,
      "--",
      "node",
      "agent.js",
      "a b",
    ]);
    const { code, stdout, read } = initialized;
    expect(code, initialized.stderr).toBe(0);
    const manifest = read("clerk.yaml");
    expect(toolOf(manifest, "mcp:files/read_text_file")).toEqual({
      ...{ ref: "mcp:files/read_text_file", data_classes: ["files.reads"] },
    });
    expect(toolOf(manifest, "mcp:files/write_file")).toEqual({
      ...{ ref: "mcp:files/write_file", data_classes: ["files.writes"], access: "write", privileged: true },
    });
    expect(commentOf(manifest, "mcp:files/write_file")).toBe("privileged: destructiveHint is true");
    const [upstream] = parse(read("pep.yaml")).upstreams;
    expect(upstream).toMatchObject({ name: "files", protocol: "mcp", tools: { write_file: "files.writes" } });
    expect(upstream.command[0]).toBe(process.execPath);
    const next = stdout.split("Next:\n")[1]?.trimEnd().split("\n") ?? [];
    expect(next[0]).toContain("svc manifest submit ");
    expect(next[0]).toMatch(/ --override 'reviewed by hand, since discovery cannot read files'$/);
    expect(next[1]).toMatch(
      / {2}svc run --scope orders --user \S+ --agent clerk --upstreams \S+pep\.yaml --mode observe -- node agent\.js 'a b'$/,
    );
    expect(next[2]).toBe("  svc would-block --scope orders");
  });

  test("ends all that the command of a server started, also what outlives its input and SIGTERM", async () => {
    const folder = newFolder();
    const stays = `process.on("SIGTERM", () => {}); setInterval(() => {}, 1000); require("fs").writeFileSync("${folder}/pid", String(process.pid));`;
    writeFileSync(join(folder, "stays.cjs"), stays);
    writeFileSync(
      join(folder, "server.sh"),
      `"${process.execPath}" "${folder}/stays.cjs" & until [ -s "${folder}/pid" ]; do sleep 0.1; done; exec ${fileServer(folder)}\n`,
    );
    const { code, stderr } = await init([...clerk, "--stdio", `files=sh "${folder}/server.sh"`]);
    expect(code, stderr).toBe(0);
    const pid = Number(readFileSync(join(folder, "pid"), "utf8"));
    expect(pid).toBeGreaterThan(1);
    await waitUntil("the process to end", () => !existsSync(`/proc/${pid}`) || isEnded(pid));
  });

  test("declares tools and methods of a server over HTTP, with discovery, and guesses on the safe side", async () => {
    const server = await startEverything();
    const initialized = await init([...clerk, "--mcp", `all=${server.url}/mcp`, "--json"]);
    server.close();
    expect(initialized.code, initialized.stderr).toBe(0);
    const found = JSON.parse(initialized.stdout);
    const manifest = initialized.read("clerk.yaml");
    expect((parse(manifest) as Manifest).manifest.discovery).toEqual([
      { kind: "mcp", name: "all", url: `${server.url}/mcp` },
    ]);
    expect(toolOf(manifest, "mcp:all#resources/read")).toMatchObject({ result_taint: "untrusted_external" });
    expect(commentOf(manifest, "mcp:all#resources/read")).toBe("review: untrusted results: no hint, and no --trusted");
    expect(found.review.map(({ ref }: { ref: string }) => ref)).toContain("mcp:all#resources/read");
    expect(found).toMatchObject({ agent: "clerk", scope: "orders", unread: [] });
    expect(found.next).toHaveLength(3);
    expect(found.next[0]).not.toContain("--override");
    expect(parse(initialized.read("pep.yaml")).upstreams[0]).toMatchObject({
      url: `${server.url}/mcp`,
      hosts: [new URL(server.url).host],
      tools: { "#resources/read": "all.reads" },
    });
  });

  test("takes results as trusted where a person says so", async () => {
    const server = await startEverything();
    const { read } = await init([...clerk, "--mcp", `all=${server.url}/mcp`, "--trusted", "all"]);
    server.close();
    expect(toolOf(read("clerk.yaml"), "mcp:all#resources/read")).not.toHaveProperty("result_taint");
  });
});

/** An MCP server of one page of tools. */
const listing = (tools: readonly object[]) =>
  serve((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (text) => {
      body += text;
    });
    request.on("end", () => {
      const { id, method } = JSON.parse(body || "{}");
      const common = { resultType: "complete", ttlMs: 0, cacheScope: "private" };
      const opened = { supportedVersions: ["2026-07-28"], capabilities: { tools: {} } };
      const result = { ...common, ...(method === "tools/list" ? { tools } : opened) };
      response.setHeader("content-type", "application/json");
      response.end(JSON.stringify({ jsonrpc: "2.0", id, result }));
    });
  });

describe("what a hint says, or does not say", () => {
  const schema = { inputSchema: { type: "object" } };
  const tools = [
    { name: "silent", ...schema },
    { name: "reader", ...schema, annotations: { readOnlyHint: true, openWorldHint: false } },
    {
      name: "safe_write",
      ...schema,
      annotations: { readOnlyHint: false, destructiveHint: false, openWorldHint: false },
    },
    { name: "open", ...schema, annotations: { readOnlyHint: true, openWorldHint: true } },
    { name: "fetchPage", ...schema, annotations: { readOnlyHint: true, openWorldHint: false } },
    { name: "no ref: can\nhold this", ...schema },
    { name: "#resources/read", ...schema },
  ];

  test("decides access, privilege and taint, each guess with its evidence", async () => {
    const server = await listing(tools);
    const initialized = await init([...clerk, "--mcp", `hints=${server.url}`]);
    server.close();
    expect(initialized.code, initialized.stderr).toBe(0);
    const manifest = initialized.read("clerk.yaml");
    const of = (name: string) => {
      const {
        ref: _,
        data_classes: __,
        ...facts
      } = toolOf(manifest, `mcp:hints/${name}`) as unknown as Record<string, unknown>;
      return [facts, commentOf(manifest, `mcp:hints/${name}`)];
    };
    const worst = { access: "write", privileged: true, result_taint: "untrusted_external" };
    const silent =
      "review: a write: readOnlyHint is absent\nreview: privileged: destructiveHint is absent\nreview: untrusted results: no hint, and no --trusted";
    expect(of("silent")).toEqual([worst, silent]);
    expect(of("reader")).toEqual([{}, ""]);
    expect(of("safe_write")).toEqual([{ access: "write" }, ""]);
    expect(of("open")).toEqual([{ result_taint: "untrusted_external" }, "untrusted results: openWorldHint is true"]);
    expect(of("fetchPage")).toEqual([
      { result_taint: "untrusted_external" },
      'review: untrusted results: "fetch" is in its name',
    ]);
  });

  test("a server whose list is not MCP's is not guessed at", async () => {
    const server = await listing([{ name: "odd", ...schema, annotations: { readOnlyHint: "yes" } }]);
    const initialized = await init([...clerk, "--mcp", `hints=${server.url}`]);
    server.close();
    expect([initialized.code, initialized.stderr]).toEqual([2, expect.stringContaining("does not speak MCP: ")]);
    expect(wroteNothing(initialized)).toBe(true);
  });

  test("a name that no ref can hold is left out, and named in the file and on the terminal", async () => {
    const server = await listing(tools);
    const { stdout, read } = await init([...clerk, "--mcp", `hints=${server.url}`]);
    server.close();
    expect(stdout).toContain("hints: no ref: can\uFFFDhold this is left out");
    expect(read("pep.yaml")).toContain("# not listed: no ref: can\uFFFDhold this: no manifest can declare this name");
    expect(Object.keys(parse(read("pep.yaml")).upstreams[0].tools).sort()).toEqual(
      ["silent", "reader", "safe_write", "open", "fetchPage"].sort(),
    );
  });
});

describe("svc init of HTTP APIs", () => {
  test("declares the operations of an OpenAPI document, specific routes first", async () => {
    const initialized = await init([
      ...clerk,
      "--openapi",
      `shop=${shop}`,
      "--trusted",
      "shop",
      "--discovery-documents",
    ]);
    expect(initialized.code, initialized.stderr).toBe(0);
    for (const [file, name] of [
      ["pep.yaml", "upstreams"],
      ["clerk.yaml", "manifest"],
    ] as const) {
      const text = initialized.read(file);
      expect(text).toContain(`# yaml-language-server: $schema=.svc/${name}.schema.json\n`);
      const validate = new Ajv({ strict: false }).compile(JSON.parse(initialized.read(`.svc/${name}.schema.json`)));
      expect(validate(parse(text)), JSON.stringify(validate.errors)).toBe(true);
    }
    const [upstream] = parse(initialized.read("pep.yaml")).upstreams;
    expect(upstream).toMatchObject({ url: "http://shop.test:9400/v1", hosts: ["shop.test:9400"] });
    const lines = upstream.routes.map(
      ({ methods, path, target }: Record<string, string>) => `${methods} ${path} ${target}`,
    );
    expect(lines).toEqual([
      "POST /batch http:shop/batch",
      "GET /orders/export http:shop/exportOrders",
      "GET /orders/latest http:shop/latest_order",
      "GET /orders/:id/messages http:shop/readMessages",
      "GET /orders/:order_id http:shop/read_orders_by_order-id",
      "DELETE /orders/:order_id http:shop/cancelOrder",
      "GET,HEAD /orders http:shop/listOrders",
      "POST /orders http:shop/placeOrder",
      "PUT /pictures http:shop/upload",
    ]);
    expect(initialized.stdout).toContain("shop: GET /reports/{name}.json is left out");
    expect(initialized.stdout).toContain(
      "shop: POST /uploads is left out: it is at another address, http://uploads.test",
    );
    const manifest = initialized.read("clerk.yaml");
    expect(toolOf(manifest, "http:shop/placeOrder")).toMatchObject({ access: "write", privileged: true });
    expect(commentOf(manifest, "http:shop/placeOrder")).toBe("review: privileged: method POST");
    expect(toolOf(manifest, "http:shop/cancelOrder")).toMatchObject({ access: "write", accepts_taint: false });
    expect(commentOf(manifest, "http:shop/cancelOrder")).toContain(
      "method DELETE; it cannot be privileged, since it has no body",
    );
    for (const [ref, why] of Object.entries({
      upload: "its body is image/png, not JSON",
      batch: "its body is no JSON object",
    })) {
      expect(toolOf(manifest, `http:shop/${ref}`)).not.toHaveProperty("privileged");
      expect(commentOf(manifest, `http:shop/${ref}`)).toContain(why);
    }
    expect(toolOf(manifest, "http:shop/readMessages")).toMatchObject({ result_taint: "untrusted_external" });
    expect((parse(manifest) as Manifest).manifest.discovery).toEqual([
      { kind: "http", name: "shop", url: "http://shop.test:9400/.well-known/svc-tools.json" },
    ]);
    expect(JSON.parse(initialized.read("shop.discovery.json")).tools[0]).toEqual({
      ...{ ref: "http:shop/listOrders", data_classes: ["shop.reads"], access: "read" },
    });
  });

  test("reads a document of OpenAPI 3.0 in JSON from a server, relative to which the API is", async () => {
    const document = { openapi: "3.0.3", servers: [{ url: "/api" }], paths: { "/pets": { get: {} } } };
    const server = await serve((_request, response) => response.end(JSON.stringify(document)));
    const initialized = await init([...clerk, "--openapi", `pets=${server.url}/docs/openapi.json`]);
    server.close();
    expect(initialized.code, initialized.stderr).toBe(0);
    expect(parse(initialized.read("pep.yaml")).upstreams[0].url).toBe(`${server.url}/api`);
  });

  test("makes two tools of an API without a document, neither for chains that read untrusted data", async () => {
    const { stdout, read } = await init([...clerk, "--http", "crm=https://crm.test/base/"]);
    expect(parse(read("pep.yaml")).upstreams[0]).toMatchObject({ url: "https://crm.test/base", hosts: ["crm.test"] });
    expect(toolsOf(read("clerk.yaml")).map(({ ref }) => ref)).toEqual(["http:crm/read", "http:crm/write"]);
    expect(toolOf(read("clerk.yaml"), "http:crm/write")).toMatchObject({ accepts_taint: false });
    expect(stdout).toContain("discovery cannot read crm");
  });

  test("leaves discovery out where a server over stdio would be rejected beside it", async () => {
    const server = await startEverything();
    const { read } = await init([
      ...clerk,
      "--mcp",
      `all=${server.url}/mcp`,
      "--stdio",
      `files=${fileServer(newFolder())}`,
    ]);
    server.close();
    expect(parse(read("clerk.yaml")).manifest).not.toHaveProperty("discovery");
    expect(read("clerk.yaml")).toMatch(/# No discovery: files runs over stdio[\s\S]*# {3}- \{ kind: mcp, name: all,/);
  });
});

describe("a wrong turn says what to do, and writes nothing:", () => {
  const answering = (status: number, body = "") => serve((_request, response) => response.writeHead(status).end(body));

  test.each<[string, readonly string[], RegExp]>([
    [
      "a server that is down",
      ["--mcp", "a=http://127.0.0.1:9/mcp"],
      /a: http:\/\/127\.0\.0\.1:9\/mcp cannot be reached\nStart the server/,
    ],
    ["no source", [], /--mcp, --stdio, --openapi or --http is missing/],
    ["no name", ["--mcp", "http://127.0.0.1:9/mcp"], /Write --mcp NAME=URL/],
    ["a name twice", ["--http", "a=http://a.test", "--mcp", "a=http://b.test"], /a names two sources/],
    ["an HTTP name twice", ["--http", "a=http://a.test", "--http", "a=http://b.test"], /a names two sources/],
    ["a name that no ref can hold", ["--http", "a/b=http://a.test"], /a name has 1-63 letters/],
    ["a name that no data class can hold", ["--http", "a..b=http://a.test"], /a name has 1-63 letters/],
    ["a URL with credentials", ["--http", "a=http://me:secret@a.test"], /without credentials/],
    [
      "a program that is not there",
      ["--stdio", "a=/no/such/program"],
      /a: the server cannot be started \(ENOENT\)\nRun it by hand/,
    ],
    [
      "a program that ends",
      ["--stdio", `a=${process.execPath} -e "console.error('no key');process.exit(3)"`],
      /a: the server ended \(exit code 3\): no key/,
    ],
    [
      "a file that is not there",
      ["--openapi", "a=/no/such/file"],
      /a: \/no\/such\/file cannot be read\nCheck the path/,
    ],
    [
      "a file that is no OpenAPI",
      ["--openapi", `a=${fileURLToPath(import.meta.url)}`],
      /is neither JSON nor YAML|is no OpenAPI 3 document/,
    ],
    ["trust in nothing", ["--http", "a=http://a.test", "--trusted", "b"], /--trusted b names no source\nName one of a/],
    [
      "an agent's name that is none",
      ["--http", "a=http://a.test", "--agent", "Clerk!"],
      /--agent Clerk! is no agent's name/,
    ],
  ])("%s", async (_what, args, message) => {
    const initialized = await init([...clerk, ...args]);
    expect(initialized.code).toBe(2);
    expect(initialized.stderr).toMatch(message);
    expect(initialized.stderr).not.toContain("secret");
    expect(wroteNothing(initialized)).toBe(true);
  });

  test.each<[string, number, RegExp]>([
    ["requires a credential", 401, /requires a credential \(401\)\nExport SVC_DISCOVERY_CREDENTIALS/],
    ["is no MCP endpoint", 404, /Give the URL of its Streamable HTTP endpoint/],
    ["redirects", 302, /answers 302: it is no MCP endpoint/],
  ])("a server that %s", async (_what, status, message) => {
    const server = await answering(status);
    const initialized = await init([...clerk, "--mcp", `a=${server.url}`]);
    server.close();
    expect([initialized.code, initialized.stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(wroteNothing(initialized)).toBe(true);
  });

  test.each<[string, string, RegExp]>([
    ["Swagger 2.0", "swagger: '2.0'\npaths: {}\n", /is a document of Swagger 2\.0\nConvert it/],
    ["something else", "hello: world\n", /is no OpenAPI 3 document: openapi/],
    [
      "no address",
      "openapi: 3.1.0\npaths: { /a: { get: {} } }\n",
      /names no address of its API\nGive the address: --http a=/,
    ],
  ])("a document of %s", async (_what, text, message) => {
    const folder = newFolder();
    writeFileSync(join(folder, "api.yaml"), text);
    const initialized = await init([...clerk, "--openapi", `a=${join(folder, "api.yaml")}`], { folder });
    expect([initialized.code, initialized.stderr]).toEqual([2, expect.stringMatching(message)]);
    expect(wroteNothing(initialized)).toBe(true);
  });

  test("files that are there already, until --force", async () => {
    const folder = newFolder();
    writeFileSync(join(folder, "clerk.yaml"), "mine");
    const args = [...clerk, "--http", "crm=https://crm.test"];
    const refused = await init(args, { folder });
    expect([refused.code, refused.stderr]).toEqual([
      2,
      expect.stringMatching(/clerk\.yaml is there already\n.*--force/),
    ]);
    expect(refused.read("clerk.yaml")).toBe("mine");
    expect(existsSync(join(folder, "pep.yaml"))).toBe(false);
    expect((await init([...args, "--force"], { folder })).code).toBe(0);
  });
});

test("a server that requires a credential gets that of its origin, by the setting of the control plane", async () => {
  const server = await serve((request, response) => {
    if (request.headers.authorization !== "Bearer of-the-server") return void response.writeHead(401).end();
    response.writeHead(500).end();
  });
  const env = { SVC_DISCOVERY_CREDENTIALS: JSON.stringify({ [server.url]: "Bearer of-the-server" }) };
  const { stderr } = await init([...clerk, "--mcp", `a=${server.url}`], { env });
  server.close();
  expect(stderr).toContain("answers 500");
});

describe("svc manifest init", () => {
  test("writes the manifest alone", async () => {
    const folder = newFolder();
    const manifest = join(folder, "clerk.yaml");
    const { code, stdout } = await svc([
      "manifest",
      "init",
      ...clerk,
      "--manifest",
      manifest,
      "--openapi",
      `shop=${shop}`,
    ]);
    expect(code).toBe(0);
    expect(stdout).toContain("Next:\n  svc manifest submit ");
    expect(toolOf(readFileSync(manifest, "utf8"), "http:shop/listOrders")).toBeDefined();
    expect((await svc(["manifest", "lint", manifest])).code).toBe(0);
  });
});
