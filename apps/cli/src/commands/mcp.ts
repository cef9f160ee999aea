import { Command, Option } from "commander";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { relayStdio } from "../mcp/relay.ts";
import { type ServerFlags, upstreamFile } from "../mcp/upstream-file.ts";
import { withoutSecretsInEnvironment } from "../run/clean-process.ts";
import { requireEntryAgent } from "../run/entry-agent.ts";
import { type LocalPep, startLocalPep } from "../run/local-pep.ts";
import { catchSignals, exitCodeOf } from "../run/program.ts";
import { revokeSession } from "../run/revoke-session.ts";
import { type Lending, lendSession } from "../run/session.ts";
import { lifetime } from "./lifetime.ts";

const help = `
Speaks MCP on standard input and output; each call is decided, and a denied one is answered by its reason. The server is
mcp:NAME in manifests. Standard error has diagnostics. The session ends with standard input, and the server with it; it gets
the usual variables and those of --env, and runs as your user. Where the server ends, so does svc, with exit code 1.

In a desktop client's configuration file:
  {
    "mcpServers": {
      "files": {
        "command": "svc",
        "args": [
          "mcp", "--scope", "notes", "--user", "ada", "--name", "files", "--class", "docs",
          "--", "npx", "-y", "@modelcontextprotocol/server-filesystem@2026.8.31", "/home/ada/notes"
        ],
        "env": {
          "SVC_CONTROL_PLANE_URL": "https://authz.example.com",
          "SVC_ADMIN_TOKEN_FILE": "/home/ada/.config/svc/admin-token"
        }
      }
    }
  }

Examples:
  svc mcp --scope expenses --user ada --agent planner --name everything --class notes -- npx -y mcp-server@1.0.0
                                   as planner, after the person delegated to it
  svc mcp --scope expenses --user ada --agent planner --name everything --class notes --env API_KEY -- npx -y mcp-server@1.0.0
                                   and hands API_KEY to the server
`;

interface Flags extends ControlPlaneFlags, Lending, ServerFlags {
  readonly mode: "enforce" | "observe";
}

export const command = (): Command =>
  withControlPlane(new Command("mcp"))
    .argument("<command...>", "the server, after --")
    .requiredOption("--scope <scope>", "the scope")
    .requiredOption("--user <sub>", "the person who consents")
    .requiredOption("--name <name>", "the server's name in manifests: mcp:NAME")
    .requiredOption("--class <class>", "the data class of its tools, resources and prompts")
    .option("--agent <name>", "the agent that acts (default: the scope's entry agent, if it has one alone)")
    .option("--data-class <classes>", "data classes to delegate (default: all)")
    .option("--ttl <seconds>", "lifetime of the session, 60 to 86400 (default: the control plane's)", lifetime)
    .option("--env <name...>", "variables that the server gets too")
    .addOption(
      new Option("--mode <mode>", "mode of the enforcement point").choices(["enforce", "observe"]).default("enforce"),
    )
    .addHelpText("after", help)
    .passThroughOptions()
    .action(run);

/** A tool may take its time, and a file that is written its size: the enforcement point's own limits suit many agents. */
const pepDefaults = { SVC_PEP_UPSTREAM_TIMEOUT_SECONDS: "3600", SVC_PEP_BIND_CAP_BYTES: "786432" };

const log = (line: string): void => void process.stderr.write(`${line}\n`);

async function run(command: readonly string[], flags: Flags): Promise<void> {
  withoutSecretsInEnvironment();
  process.stderr.on("error", () => {});
  const interruption = catchSignals();
  // A client that is gone must not keep the session from being revoked; its end of the input ends the relay.
  process.stdout.removeAllListeners("error").on("error", () => {});
  const plane = openControlPlane(flags);
  const agent = await requireEntryAgent(plane, flags);
  const upstream = await upstreamFile(command, flags);
  let sessionId: string | undefined;
  let pep: LocalPep | undefined;
  try {
    const session = await lendSession(plane, { ...flags, agent });
    sessionId = session.session_id;
    const options = { defaults: pepDefaults, onLine: log };
    const { mode } = flags;
    pep = await startLocalPep(plane.url, session, { upstreams: upstream.file, mode }, interruption.signal, options);
    const { stdin: input, stdout: output } = process;
    const end = await relayStdio({ url: `${pep.url}/${flags.name}`, input, output, signal: interruption.signal });
    if (end === "lost") log("svc mcp: the server or its session ended");
    process.exitCode = end === "lost" ? 1 : 0;
  } catch (cause) {
    if (!interruption.signal.aborted) throw cause;
  } finally {
    process.stdin.destroy();
    if (sessionId !== undefined) await revokeSession(plane, sessionId, "svc mcp ended");
    await pep?.stop();
    await upstream.remove();
    if (interruption.signal.aborted) process.exitCode = exitCodeOf(interruption.signal.reason);
    interruption.release();
  }
}
