import { readFileSync } from "node:fs";
import { fitHelp } from "@svc/host/fit-help";
import { endWithItsReader } from "@svc/host/process-end";
import { Command } from "commander";
import { addCompletion } from "./commands/completion.ts";
import { commands } from "./commands.ts";
import { notTried } from "./fault.ts";
import { reportFault } from "./report-fault.ts";

const { version }: { version: string } = JSON.parse(readFileSync(new URL("../package.json", import.meta.url), "utf8"));

const exitCodes = `
Exit codes:
  0  success
  1  the command failed, was refused, or found a fault
  2  the command line or the environment is wrong, or the control plane does not respond

Environment:
  SVC_CONTROL_PLANE_URL   the control plane's address (default: the context's of svc login, or http://127.0.0.1:8080)
  SVC_ADMIN_TOKEN, SVC_AUDIT_TOKEN, SVC_IDENTITY_TOKEN
                          bearers of its planes; the admin token is valid for all three. <NAME>_FILE names a file instead,
                          also a pipe: SVC_ADMIN_TOKEN_FILE=<(pass show svc/admin) svc run ...
  NO_COLOR                no colors
`;

/** Loads only the given command: the libraries of the others would take most of the start. */
async function loadProgram(args: readonly string[]): Promise<Command> {
  const program = new Command("svc")
    .description("Authorize what software agents may do on behalf of a person, one hop at a time.")
    .version(version, "-V, --version", "print its version")
    .helpCommand(false)
    // Options after `svc run ... --` belong to the command that it runs.
    .enablePositionalOptions()
    .addHelpText("after", exitCodes);
  const given = args.find((arg) => !arg.startsWith("-"));
  // Shells complete every command.
  const isCompleting = given === "completion" || given === "complete";
  for (const { name, description, load } of commands) {
    // The completion library adds its own.
    if (isCompleting && name === "completion") continue;
    const isLoaded = load !== undefined && (isCompleting || name === given);
    program.addCommand((isLoaded ? (await load()).command() : new Command(name)).description(description));
  }
  if (isCompleting) await addCompletion(program);
  return program;
}

const writeHelp = (text: string): void => void process.stdout.write(fitHelp(text, process.stdout.columns));

/** What is wrong with the command line is reported as every other error. Commands do not inherit it from their program. */
function throwOnExit(command: Command, words: string): void {
  command.configureOutput({ outputError: () => {}, writeOut: writeHelp }).exitOverride((cause) => {
    if (cause.exitCode === 0 || cause.code === "commander.help") throw cause;
    throw notTried(cause.message.replace(/^error: /, ""), `See ${words} --help.`, cause);
  });
  for (const child of command.commands) throwOnExit(child, `${words} ${child.name()}`);
}

/** `svc help keys rotate` is `svc keys rotate --help`. */
const withoutHelpCommand = ([first, ...rest]: readonly string[]): readonly string[] =>
  first === "help" ? [...rest, "--help"] : first === undefined ? ["--help"] : [first, ...rest];

/** `svc dev ...`, and a shell's `svc complete -- dev ...`. */
function isForDev([first, , third]: readonly string[]): boolean {
  const given = first === "complete" ? third : first;
  return commands.some(({ name, load }) => name === given && load === undefined);
}

/** A thumbprint (RFC 7638) is base64url: one in 64 begins with a dash, like an option. */
const dashedKeyId = /^-[A-Za-z0-9_-]{42}$/;

/** The command line with such ids after `--`. */
function shieldKeyIds(args: readonly string[]): readonly string[] {
  const ids = args[0] === "keys" && !args.includes("--") ? args.filter((arg) => dashedKeyId.test(arg)) : [];
  return ids.length === 0 ? args : [...args.filter((arg) => !ids.includes(arg)), "--", ...ids];
}

endWithItsReader(process.stdout);
const args = shieldKeyIds(withoutHelpCommand(process.argv.slice(2)));
try {
  if (isForDev(args)) {
    const { runDev } = await import("./run/program.ts");
    process.exitCode = await runDev(args);
  } else {
    const program = await loadProgram(args);
    throwOnExit(program, "svc");
    await program.parseAsync(args, { from: "user" });
  }
} catch (cause) {
  process.exitCode = reportFault(cause, args);
}
