import { type Command, Option } from "commander";
import type { SourceFlags } from "./source.ts";

/** What both `svc init` and `svc manifest init` take. */
export interface InitFlags extends SourceFlags {
  readonly agent?: string;
  readonly scope?: string;
  readonly manifest?: string;
  readonly trusted?: readonly string[];
  readonly discoveryDocuments?: boolean;
  readonly force?: boolean;
  readonly yes?: boolean;
  readonly json?: boolean;
}

const repeated = (value: string, before: readonly string[] = []): readonly string[] => [...before, value];

const repeatable = (flags: string, description: string): Option => new Option(flags, description).argParser(repeated);

/** Options that may be repeated, one source each. */
export const withSources = (command: Command): Command =>
  command
    .addOption(repeatable("--mcp <name=url>", "an MCP server over Streamable HTTP"))
    .addOption(repeatable("--stdio <name=command>", "an MCP server over stdio, started by this command"))
    .addOption(
      repeatable("--env <name=variable=value>", "a variable of a --stdio server; =@FILE has it read from a file"),
    )
    .addOption(repeatable("--openapi <name=file>", "an HTTP API with an OpenAPI 3 document, a file or a URL"))
    .addOption(repeatable("--http <name=url>", "an HTTP API without one; beside --openapi its base address"))
    .addOption(repeatable("--trusted <name>", "a source whose results no outsider can write"))
    .option("--agent <name>", "the agent")
    .option("--scope <scope>", "what a person consents to (default: the agent's name)")
    .option("--manifest <file>", "the manifest to write (default: AGENT.yaml)")
    .option("--discovery-documents", "write what each HTTP API would serve for discovery")
    .option("--force", "overwrite what is there")
    .option("--yes", "ask nothing");
