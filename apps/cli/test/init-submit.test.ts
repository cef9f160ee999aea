import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import { requires } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fileServer, type Served, serve, startEverything } from "./mcp-servers.ts";
import { type CliStack, startCliStack } from "./stack.ts";
import { main } from "./svc.ts";
import { keys, openTerminal } from "./terminal.ts";

let stack: CliStack;
let mcp: Served;
let api: Served;
/** What the API serves for discovery. */
let document: string | undefined;

beforeAll(async () => {
  stack = await startCliStack();
  mcp = await startEverything();
  api = await serve((request, response) => {
    const isListed = request.url === "/.well-known/svc-tools.json" && document !== undefined;
    response.writeHead(isListed ? 200 : 404).end(isListed ? document : "");
  });
  writeFileSync(
    join(stack.folder, "api.yaml"),
    "openapi: 3.1.0\npaths: { /orders: { get: { operationId: list }, delete: { operationId: clear } } }\n",
  );
});
afterAll(async () => {
  mcp?.close();
  api?.close();
  await stack.stop();
});

const sources = {
  mcp: () => ["--mcp", `all=${mcp.url}/mcp`],
  api: () => ["--openapi", `shop=${join(stack.folder, "api.yaml")}`, "--http", `shop=${api.url}`],
  stdio: () => ["--stdio", `files=${fileServer(stack.folder)}`],
  http: () => ["--http", `crm=${api.url}/crm`],
};
type Kind = keyof typeof sources;

/** Initializes in an empty folder, and types the command that submits. */
async function initAndSubmit(agent: string, kinds: readonly Kind[]) {
  const cwd = mkdtempSync(join(stack.folder, "init-"));
  const flags = kinds.flatMap((kind) => sources[kind]());
  const run = promisify(execFile);
  const env = { ...stack.env, PATH: `${join(stack.folder, "bin")}:${process.env.PATH}` };
  mkdirSync(join(stack.folder, "bin"), { recursive: true });
  writeFileSync(join(stack.folder, "bin/svc"), `#!/bin/sh\nexec "${process.execPath}" "${main}" "$@"\n`, {
    mode: 0o755,
  });
  const asked = ["init", "--agent", agent, ...flags, "--discovery-documents", "--yes", "--json"];
  const initialized = JSON.parse((await run(process.execPath, [main, ...asked], { cwd, env })).stdout);
  const submit = () => run("sh", ["-c", initialized.next[0]], { cwd, env });
  return { cwd, initialized, submit };
}

describe("the submit command that svc init prints is accepted:", () => {
  test.each<[string, readonly Kind[]]>([
    ["reconciled", ["mcp"]],
    ["attested", ["mcp", "api"]],
    ["attested", ["mcp", "stdio"]],
    ["attested", ["mcp", "stdio", "http"]],
    ["attested", ["stdio"]],
    ["attested", ["stdio", "api", "http"]],
  ])("%s, of %j", async (status, kinds) => {
    document = undefined;
    const agent = `of-${kinds.join("-")}`;
    const { submit, initialized } = await initAndSubmit(agent, kinds);
    expect((await submit()).stdout).toContain(`✓ ${agent} version 1 is ${status}`);
    expect(initialized.next[0].includes("--override")).toBe(status === "attested");
  });

  test("reconciled, of an API that serves the document which was written for it", async () => {
    document = undefined;
    const { cwd, submit } = await initAndSubmit("listed", ["mcp", "api"]);
    document = readFileSync(join(cwd, "shop.discovery.json"), "utf8");
    expect((await submit()).stdout).toContain("✓ listed version 1 is reconciled");
  });
});

requires("script").test("svc manifest approve asks on a terminal, and attests where the answer is yes", async () => {
  document = undefined;
  const { cwd } = await initAndSubmit("waiting", ["mcp", "api"]);
  await stack.svc("manifest", "submit", join(cwd, "waiting.yaml"), "--override", "a test");
  const more = readFileSync(join(cwd, "waiting.yaml"), "utf8").replace("hop_budget: 2", "hop_budget: 3");
  writeFileSync(join(cwd, "waiting.yaml"), more);
  expect((await stack.svc("manifest", "submit", join(cwd, "waiting.yaml"))).stderr).toContain("needs_review");
  const approve = ["manifest", "approve", "waiting", "--reason", "seen it"];
  const refused = openTerminal(approve, { env: stack.env });
  await refused.answer('Accept it, for the reason "seen it"? [y/N]', keys.enter);
  expect(await refused.ended).toBe(1);
  const accepted = openTerminal(approve, { env: stack.env });
  await accepted.answer("You attest version 2 of waiting", "");
  await accepted.answer("[y/N]", `y${keys.enter}`);
  expect(await accepted.ended, accepted.screen()).toBe(0);
  expect(accepted.screen()).toContain("In force: waiting version 3, attested.");
});
