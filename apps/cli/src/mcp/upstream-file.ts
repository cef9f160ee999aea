import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { notTried } from "../fault.ts";

export interface ServerFlags {
  readonly name: string;
  readonly class: string;
  readonly env?: readonly string[];
}

/** Every method that needs a class of its own; the policy decides which of them the agent may call. */
const methods = [
  ...["resources/list", "resources/read", "resources/templates/list", "resources/subscribe", "resources/unsubscribe"],
  ...["prompts/list", "prompts/get", "completion/complete", "logging/setLevel"],
  ...["tasks/get", "tasks/result", "tasks/list", "tasks/cancel", "tasks/update"],
];

/** An upstreams file with the one server, in a folder that others cannot read. @throws {Fault} */
export async function upstreamFile(command: readonly string[], { name, class: dataClass, env = [] }: ServerFlags) {
  const upstream = {
    ...{ name, protocol: "mcp", command, data_class: dataClass, denials: "result", filter_tool_lists: true },
    env: Object.fromEntries(env.map((variable) => [variable, valueIn(variable)])),
    tools: Object.fromEntries(methods.map((method) => [`#${method}`, dataClass])),
  };
  const folder = await mkdtemp(join(tmpdir(), "svc-mcp-"));
  const file = join(folder, "upstreams.json");
  await writeFile(file, JSON.stringify({ upstreams: [upstream] }), { mode: 0o600 });
  return { file, remove: () => rm(folder, { recursive: true, force: true }) };
}

function valueIn(variable: string): string {
  const value = process.env[variable];
  if (value !== undefined) return value;
  throw notTried(`--env ${variable}: no such variable`, "Set it where svc mcp is started, or leave the option out.");
}
