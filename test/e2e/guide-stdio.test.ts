import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { openStand } from "@svc/test-conformance/stand";
import { programOf, testBearers } from "@svc/test-support";
import { afterAll, expect, test } from "vitest";
import { officialServer } from "./src/stdio/servers.ts";

const guides = new URL("../../docs/guides/", import.meta.url);
const guide = readFileSync(new URL("stdio.md", guides), "utf8");

/** The first block of a language in a page, without the indentation of its list. */
function block(language: string): string {
  const [, indent = "", code = ""] = new RegExp(`^( *)\`\`\`${language}\n(.*?)^ *\`\`\``, "ms").exec(guide) ?? [];
  return code.replaceAll(new RegExp(`^${indent}`, "gm"), "");
}

interface Configuration {
  readonly mcpServers: { readonly files: { command: string; args: string[]; env: Record<string, string> } };
}

const folder = mkdtempSync(join(tmpdir(), "svc-guide-"));
const stand = await openStand({
  scopes: { other: { hop_budget: 2, tools: [{ ref: "http:a/b", data_classes: ["docs"] }] } },
  upstreams: () => [],
});
afterAll(async () => {
  await stand.stop();
  rmSync(folder, { recursive: true, force: true });
});

test("a client that is configured as the guide says reads a file, and is denied to write one", async () => {
  writeFileSync(join(folder, "desktop.yaml"), block("yaml"));
  writeFileSync(join(folder, "token"), testBearers.admin);
  writeFileSync(join(folder, "note.txt"), "a note");
  const here = { SVC_CONTROL_PLANE_URL: stand.api.url, SVC_ADMIN_TOKEN_FILE: join(folder, "token") };
  const submit = block("sh").replace("svc", `"${process.execPath}" "${programOf("@svc/cli/main")}"`);
  await promisify(execFile)("sh", ["-c", submit], { cwd: folder, env: { PATH: process.env.PATH, ...here } });

  const { files } = (JSON.parse(block("json")) as Configuration).mcpServers;
  const server = files.args.indexOf("npx");
  const args = [...files.args.slice(0, server), ...officialServer("filesystem", folder)];
  const transport = new StdioClientTransport({
    ...{ command: process.execPath, args: [programOf("@svc/cli/main"), ...args] },
    env: { ...files.env, ...here },
  });
  const client = new Client({ name: "desktop", version: "1" });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  const tools = (await client.listTools()).tools.map(({ name }) => name);
  expect(tools.sort()).toEqual(["list_directory", "read_text_file"]);
  const note = await client.callTool({ name: "read_text_file", arguments: { path: join(folder, "note.txt") } });
  expect(note).toMatchObject({ content: [{ text: "a note" }] });
  const written = await client.callTool({ name: "write_file", arguments: { path: join(folder, "x"), content: "" } });
  expect(written).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(/TARGET_NOT_DECLARED/) }] });
  await client.close();
});

test("svc mcp --help shows the same configuration", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, [programOf("@svc/cli/main"), "mcp", "--help"]);
  const printed = /^ {2}\{.*^ {2}\}/ms.exec(stdout)?.[0] ?? "";
  expect(JSON.parse(printed)).toEqual(JSON.parse(block("json")));
});
