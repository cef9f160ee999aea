import { readFileSync } from "node:fs";
import { Command, CommanderError } from "commander";
import { endWithItsReader } from "./closed-pipe.ts";
import { colors } from "./colors.ts";
import { addCompletion } from "./commands/completion.ts";
import { commands } from "./commands.ts";
import { Fault } from "./fault.ts";
import { shieldKeyIds } from "./key-ids.ts";

const { version }: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

const exitCodes = `
Exit codes:
  0  done
  1  it failed, was refused, or found something wrong
  2  the command line or the environment is wrong, or nobody answers

Environment:
  SVC_CONTROL_PLANE_URL   the control plane's address (default http://127.0.0.1:8080)
  SVC_ADMIN_TOKEN, SVC_AUDIT_TOKEN, SVC_IDENTITY_TOKEN
                          bearers of its planes; the admin's opens the other two
  NO_COLOR                no colours, on a terminal either
`;

/** Only the command that is asked for is loaded: the others' libraries would be most of the time that it takes. */
async function loadProgram(args: readonly string[]): Promise<Command> {
  const program = new Command("svc")
    .description("Authorize what software agents may do on behalf of a person, one hop at a time.")
    .version(version, "-V, --version", "print its version")
    .showHelpAfterError("Run with --help to see what there is.")
    .exitOverride()
    // What stands behind `svc run` belongs to the command that it runs.
    .enablePositionalOptions()
    .addHelpText("after", exitCodes);
  const asked = args.find((arg) => !arg.startsWith("-"));
  // The shell completes all of them.
  const isCompleting = asked === "completion" || asked === "complete";
  for (const { name, description, load } of commands) {
    // The library brings its own.
    if (isCompleting && name === "completion") continue;
    program.addCommand(isCompleting || name === asked ? await load() : new Command(name).description(description));
  }
  if (isCompleting) await addCompletion(program);
  return program;
}

/** Commands inherit nothing of their program, so each is told to throw rather than to exit. */
function throwOnExit(command: Command): void {
  command.exitOverride().showHelpAfterError("Run with --help to see what there is.");
  for (const child of command.commands) throwOnExit(child);
}

function tell(cause: unknown): void {
  if (cause instanceof CommanderError) {
    // It has said what is wrong; help and version are no failure.
    process.exitCode = cause.exitCode === 0 ? 0 : 2;
    return;
  }
  process.stderr.write(`${colors.red("error:")} ${cause instanceof Error ? cause.message : String(cause)}\n`);
  process.stderr.write(`${cause instanceof Fault ? cause.advice : "Run with --help to see what there is."}\n`);
  process.exitCode = cause instanceof Fault ? cause.exitCode : 1;
}

endWithItsReader(process.stdout);
try {
  const args = shieldKeyIds(process.argv.slice(2));
  const program = await loadProgram(args);
  throwOnExit(program);
  await program.parseAsync(args, { from: "user" });
} catch (cause) {
  tell(cause);
}
