import { Command } from "commander";
import { type InitFlags, withSources } from "../init/flags.ts";

const examples = `
Asks each server what it offers, and writes the enforcement point's file and a manifest, checked and with a comment on
each tool that is privileged, untrusted or a guess. On a terminal it asks for what is left out. A server over stdio gets
none of your variables but the usual ones and those of --env. Overwrites nothing without --force.

Examples:
  svc init                         asks for everything, on a terminal
  svc init --agent reader --stdio fs="npx -y @modelcontextprotocol/server-filesystem@2026.8.31 ." --upstreams reader-pep.yaml --yes -- node agent.js
  svc init --agent scribe --stdio fs="npx -y @modelcontextprotocol/server-filesystem@2026.8.31 ." --env fs=API_KEY=@key.txt --upstreams scribe-pep.yaml --yes
                                   the file names key.txt, and holds nothing of it
  svc init --agent clerk --openapi shop=openapi.yaml --http shop=https://shop.internal --trusted shop --upstreams clerk-pep.yaml
                                   --trusted: no outsider can write what the shop returns
  svc init --agent buyer --mcp market=https://market.internal/mcp --upstreams buyer-pep.yaml --yes --json
                                   one line: {agent, scope, files, sources, review, unread, next}
`;

export const command = (): Command =>
  withSources(new Command("init"))
    .argument("[command...]", "how the agent is started, after --")
    .option("--upstreams <file>", "the enforcement point's file to write", "pep.yaml")
    .option("--user <sub>", "the person of the printed commands (default: the system's user)")
    .option("--json", "one line: {agent, scope, files, sources, review, unread, next}")
    .addHelpText("after", examples)
    .passThroughOptions()
    .action(init);

type Flags = InitFlags & { readonly upstreams: string; readonly user?: string };

async function init(command: readonly string[], flags: Flags): Promise<void> {
  const { runInit } = await import("../init/run-init.ts");
  await runInit({ ...flags, command });
}
