import { spawn } from "node:child_process";
import { once } from "node:events";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StdioClientTransport } from "@modelcontextprotocol/sdk/client/stdio.js";
import { ElicitRequestSchema } from "@modelcontextprotocol/sdk/types.js";
import type { Stand } from "@svc/test-conformance/stand";
import { programOf, testBearers } from "@svc/test-support";

export interface SvcMcp {
  readonly scope: string;
  readonly server: readonly string[];
  readonly more?: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** What a desktop client's configuration file says: program, arguments, variables. */
export const desktopEntry = ({ api }: Pick<Stand, "api">, { scope, server, more = [], env = {} }: SvcMcp) => ({
  command: process.execPath,
  args: [
    ...[programOf("@svc/cli/main"), "mcp", "--scope", scope, "--user", "ada", "--name", scope, "--class", "docs"],
    ...[...more, "--", ...server],
  ],
  env: { SVC_CONTROL_PLANE_URL: api.url, SVC_ADMIN_TOKEN: testBearers.admin, ...env },
});

/** The official client, which starts `svc mcp` as a desktop client does and accepts what it is asked. */
export async function connectDesktop(stand: Pick<Stand, "api">, options: SvcMcp) {
  const transport = new StdioClientTransport({ ...desktopEntry(stand, options), stderr: "pipe" });
  let stderr = "";
  transport.stderr?.on("data", (chunk: Buffer) => {
    stderr += chunk;
  });
  const client = new Client({ name: "desktop", version: "1" }, { capabilities: { elicitation: { form: {} } } });
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: "accept", content: { name: "Ada" } }));
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  return { client, stderr: () => stderr };
}

/** The same without a client: its lines are read, and must be JSON. */
export function startByHand(stand: Pick<Stand, "api">, options: SvcMcp) {
  const { command, args, env } = desktopEntry(stand, options);
  const child = spawn(command, args, { env: { PATH: process.env.PATH, HOME: process.env.HOME, ...env } });
  let stdout = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    stdout += text;
  });
  child.stderr.resume();
  return {
    exited: once(child, "close").then(([code]) => code as number),
    lines: (): Record<string, unknown>[] =>
      stdout
        .split("\n")
        .slice(0, -1)
        .map((line) => JSON.parse(line)),
    write: (text: string) => child.stdin.write(text),
    send: (message: object) => child.stdin.write(`${JSON.stringify(message)}\n`),
    end: () => child.stdin.end(),
    kill: (signal: NodeJS.Signals) => void child.kill(signal),
  };
}
