import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { AuthzClient } from "@svc/client";
import { type EnforcementPoint, startEnforcementPoint, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { parse } from "yaml";
import { type CliStack, clerkManifest, startCliStack } from "./stack.ts";
import { svc } from "./svc.ts";

let stack: CliStack;
let pep: EnforcementPoint;
let client: AuthzClient;

beforeAll(async () => {
  stack = await startCliStack();
  await submit(clerkManifest);
  pep = await startEnforcementPoint(stack.controlPlane.url, stack.upstreams, { SVC_PEP_MODE: "observe" });
  client = new AuthzClient({ baseUrl: stack.controlPlane.url, adminToken: stack.env.SVC_ADMIN_TOKEN });
});
afterAll(async () => {
  await client?.close();
  await pep?.stop();
  await stack.stop();
});

async function submit(manifest: object): Promise<void> {
  const file = join(stack.folder, "clerk.json");
  writeFileSync(file, JSON.stringify(manifest));
  expect((await stack.svc("manifest", "submit", file, "--override", "a test")).code).toBe(0);
}

/** A session of the clerk, and its calls through the enforcement point. */
async function session(dataClass: string) {
  const lent = await client.consent({ scope: "books", userSub: "ada" });
  const [, clerk] = await client.hop(lent.context(), { target: "clerk", targetKind: "agent", dataClass });
  const headers = { authorization: `Bearer ${clerk.token}`, "x-svc-session": clerk.sessionId };
  return async (line: string) => {
    const [method = "", path = ""] = line.split(" ");
    return (await fetch(`${pep.url}/ledger${path}`, { method, headers })).status;
  };
}

const suggest = (...args: readonly string[]) =>
  svc(["upstreams", "suggest", "--pep", pep.adminUrl, "--upstreams", stack.upstreams, ...args]);

const lines = ["GET /entries/7", "GET /entries/8", "GET /read/", "DELETE /entries/7"];

interface Merged {
  upstreams: { name: string; routes: object[] }[];
}

describe("svc upstreams suggest", () => {
  test("prints nothing to add where no call is unlisted", async () => {
    expect(await suggest()).toEqual({ code: 0, stdout: "No call is unlisted.\n", stderr: "" });
  });

  test("prints routes that, added to the file, list the calls, and the tools that admit them", async () => {
    const call = await session("finance.entries");
    for (const line of lines) expect(await call(line), line).toBe(200);
    const { code, stdout, stderr } = await suggest();
    expect([code, stderr]).toEqual([0, ""]);
    expect(stdout).toContain(
      "      # 2 calls\n      - { methods: [ GET ], path: /entries/:id, target: http:ledger/read_entries_by_id, data_class: ledger.reads }\n",
    );
    expect(stdout).toMatch(/# 1 call; http:ledger\/read is the target of another route too\n.*path: \/read\/,/);
    const { stdout: tools } = await suggest("--manifest");

    const [added] = (parse(stdout) as Merged).upstreams;
    const file = JSON.parse(readFileSync(stack.upstreams, "utf8")) as Merged;
    file.upstreams[0]?.routes.push(...(added?.routes ?? []));
    writeFileSync(stack.upstreams, JSON.stringify(file));
    const targets = ["http:ledger/read_entries_by_id", "http:ledger/read", "http:ledger/delete_entries_by_id"];
    await waitUntil("the calls to be decided", async () => {
      for (const line of lines) await call(line);
      const decided = (await stack.json("decisions", "--target-kind", "tool")).map(({ target }) => target);
      return targets.every((target) => decided.includes(target));
    });
    expect(
      (await stack.json("upstreams", "suggest", "--pep", pep.adminUrl, "--upstreams", stack.upstreams))[0].upstreams,
    ).toEqual([]);

    const manifest = structuredClone(clerkManifest) as { manifest: { scopes: { books: { tools: object[] } } } };
    manifest.manifest.scopes.books.tools.push(
      ...(parse(tools) as { tools: { ref: string }[] }).tools.filter(({ ref }) => ref !== "http:ledger/read"),
    );
    await submit(manifest);
    const allowed = await session("finance.entries ledger.reads ledger.writes");
    for (const line of lines) await allowed(line);
    const decisions = await stack.json("decisions", "--target-kind", "tool", "--limit", "4");
    expect(decisions.map(({ decision }) => decision)).toEqual(Array(4).fill("allow"));
  });
});

describe("svc upstreams lint", () => {
  const fileOf = (...classify: readonly object[]) => {
    const file = join(stack.folder, "rules.yaml");
    const route = { methods: ["POST"], path: "/pay", target: "http:bank/pay", classify, data_class: "pay.any" };
    writeFileSync(file, JSON.stringify({ upstreams: [{ name: "bank", url: "http://bank", routes: [route] }] }));
    return file;
  };
  const upTo = (max: number, data_class: string) => ({ when: { "/amount": { max } }, data_class });
  const lint = (...args: string[]) => svc(["upstreams", "lint", ...args]);

  test("names each dead rule with the rule before it, and exits 1", async () => {
    const file = fileOf(upTo(5, "pay.small"), upTo(4, "pay.tiny"));
    const { code, stdout } = await lint(file);
    expect([code, stdout]).toEqual([
      1,
      "dead bank, POST /pay: rule 2 (pay.tiny) never decides: rule 1 (pay.small) holds for every call that it holds for\n2 rules, 1 dead, 0 overlaps\n",
    ]);
    const json = await lint(file, "--json");
    expect([json.code, JSON.parse(json.stdout)]).toMatchObject([
      1,
      { rules: 2, findings: [{ kind: "subsumed", by: 1 }] },
    ]);
  });

  test("names overlaps, and exits 0", async () => {
    const { code, stdout } = await lint(fileOf(upTo(4, "pay.tiny"), upTo(5, "pay.small")));
    expect([code, stdout]).toEqual([
      0,
      expect.stringMatching(/^note bank, .*rule 1 decides\n2 rules, 0 dead, 1 overlaps\n$/),
    ]);
  });

  test.each([
    ["is no upstreams file", () => fileOf({ when: {} })],
    ["does not exist", () => "/no/such/file"],
  ])("exits 2 for a file that %s", async (_name, file) => {
    const { code, stdout, stderr } = await lint(file());
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toMatch(/rules.yaml|no such file/i);
  });
});

describe("a list", () => {
  const list = (unlisted: readonly object[], dropped = 0) => {
    const file = join(stack.folder, "unlisted.json");
    writeFileSync(file, JSON.stringify({ unlisted, dropped }));
    return file;
  };
  const call = { upstream: "ledger", method: "GET", path: "/entries", cause: "unresolvable_call", count: 1 };

  test("of svc run --mode observe is saved by --unlisted, and read again", async () => {
    const file = join(stack.folder, "run.json");
    const script = 'await fetch(process.env.SVC_PEP_URL + "/ledger/totals/2026")';
    const run = ["run", "--scope", "books", "--user", "ada", "--upstreams", stack.upstreams, "--mode", "observe"];
    const command = [process.execPath, "--input-type=module", "-e", script];
    const { code, stderr } = await svc([...run, "--unlisted", file, "--", ...command], stack.env);
    expect(code, stderr).toBe(0);
    const [{ upstreams }] = await stack.json("upstreams", "suggest", file, "--upstreams", stack.upstreams);
    expect(upstreams).toMatchObject([{ name: "ledger", routes: [{ path: "/totals/:id", calls: 1 }] }]);
  });

  test("that was full, or is compared with no file, is read with a warning", async () => {
    const { code, stdout, stderr } = await svc(["upstreams", "suggest", list([call], 7)]);
    expect([code, stdout]).toEqual([0, expect.stringContaining("path: /entries,")]);
    expect(stderr).toMatch(/7 further calls[\s\S]*--upstreams/);
  });

  test("whose text comes from an agent cannot write into the file or to the terminal", async () => {
    const path = "#x\n  - name: evil\r\u001b[2J";
    const { stdout } = await svc(["upstreams", "suggest", list([{ ...call, upstream: "chat", path }])]);
    expect(parse(stdout)).toEqual({ upstreams: [{ name: "chat" }] });
    expect(stdout.replaceAll("\n", "")).not.toMatch(/\p{Cc}/u);
  });

  test.each([
    ["that is absent", () => ["/no/such/list"], "cannot be read"],
    ["that is none", () => [stack.upstreams], "GET /__svc/unlisted"],
    ["of a file that is no upstreams file", () => [list([call]), "--upstreams", list([call])], "unlisted.json: "],
    ["of an address without an enforcement point", () => ["--pep", "http://127.0.0.1:9"], "cannot be reached"],
    ["of the proxy port", () => ["--pep", pep.url], "answers 404"],
  ])("%s is an error with a remedy", async (_name, args, text) => {
    const { code, stdout, stderr } = await svc(["upstreams", "suggest", ...args()]);
    expect([code, stdout]).toEqual([2, ""]);
    expect(stderr).toContain(text);
  });

  test.each(["127.0.0.1:PORT", "0.0.0.0:PORT"])("is that of SVC_PEP_ADMIN_LISTEN=%s by default", async (listen) => {
    const { port } = new URL(pep.adminUrl);
    const env = { SVC_PEP_ADMIN_LISTEN: listen.replace("PORT", port) };
    expect((await svc(["upstreams", "suggest", "--json"], env)).code).toBe(0);
  });
});
