import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { requires } from "@svc/test-support";
import { afterAll, expect } from "vitest";
import { parse } from "yaml";
import { fileServer } from "./mcp-servers.ts";
import { keys, openTerminal } from "./terminal.ts";

const cwd = mkdtempSync(join(tmpdir(), "svc-terminal-"));
afterAll(() => rmSync(cwd, { recursive: true, force: true }));

const shop = fileURLToPath(new URL("shop-openapi.yaml", import.meta.url));
const { test } = requires("script");
const { down, enter, left } = keys;

test("svc init asks for what the flags leave out, lets a mistake be corrected, and writes the files", async () => {
  const terminal = openTerminal(["init"], { cwd });
  await terminal.answer("What is the agent called?", `Clerk${enter}`);
  await terminal.answer("must be an agent name", `\u0015clerk${enter}`);
  await terminal.answer("Under which scope", enter);
  // A server that is not there.
  await terminal.answer("What does it call?", enter);
  await terminal.answer("A name for it", `files${enter}`);
  await terminal.answer("Its URL?", `http://127.0.0.1:9/mcp${enter}`);
  await terminal.answer("cannot be reached", "");
  await terminal.answer("What does it call?", `${down}${enter}`);
  await terminal.answer("A name for it", `files${enter}`);
  await terminal.answer("The command?", `${fileServer(cwd)}${enter}`);
  await terminal.answer("14 tools of MCP", "");
  await terminal.answer("What does it call?", `${down}${down}${enter}`);
  await terminal.answer("A name for it", `shop${enter}`);
  await terminal.answer("The document", `${shop}${enter}`);
  await terminal.answer("Its base address?", enter);
  await terminal.answer("Can outsiders write what shop returns", `${left.replace("D", "C")}${enter}`);
  await terminal.answer("What does it call?", `${down.repeat(4)}${enter}`);
  await terminal.answer("How is the agent started?", `node agent.js${enter}`);
  expect(await terminal.ended, terminal.screen()).toBe(0);
  expect(terminal.screen().replace(/ \\\r?\n +/g, " ")).toContain("--mode observe -- node agent.js");
  const { agent, manifest } = parse(readFileSync(join(cwd, "clerk.yaml"), "utf8"));
  expect(agent).toBe("clerk");
  expect(Object.keys(manifest.scopes)).toEqual(["clerk"]);
  const refs = manifest.scopes.clerk.tools.map(({ ref }: { ref: string }) => ref);
  expect(refs).toEqual(expect.arrayContaining(["mcp:files/write_file", "http:shop/placeOrder"]));
  const list = manifest.scopes.clerk.tools.find(({ ref }: { ref: string }) => ref === "http:shop/listOrders");
  expect(list).not.toHaveProperty("result_taint");
  expect(readFileSync(join(cwd, "pep.yaml"), "utf8")).toContain("name: shop");
});

test("Ctrl-C ends the questions, and nothing is written", async () => {
  const terminal = openTerminal(["init", "--upstreams", "other.yaml"], { cwd });
  await terminal.answer("What is the agent called?", `other${enter}`);
  await terminal.answer("Under which scope", keys.interrupt);
  expect(await terminal.ended).toBe(1);
  expect(terminal.screen()).toMatch(/cancelled[\s\S]*Nothing was written/);
  expect(existsSync(join(cwd, "other.yaml"))).toBe(false);
});

test("svc init asks nothing where the flags name everything", async () => {
  const flags = ["--agent", "crm-clerk", "--http", "crm=https://crm.test", "--upstreams", "crm.yaml"];
  const terminal = openTerminal(["init", ...flags], { cwd });
  expect(await terminal.ended, terminal.screen()).toBe(0);
  expect(terminal.screen()).not.toContain("?");
  expect(terminal.screen()).toMatch(/-- "\$\{SHELL:-sh\}"/);
});
