import { CommanderError } from "commander";
import { Fault } from "./fault.ts";
import { fitText } from "./fit-text.ts";
import { colors } from "./output.ts";

/** Prints an error and its remedy, as one line of JSON where results are JSON too. @returns the exit code */
export function reportFault(cause: unknown, args: readonly string[]): number {
  // Help and the version end a command too.
  if (cause instanceof CommanderError && cause.exitCode === 0) return 0;
  // A group without a command, whose help is printed.
  if (cause instanceof CommanderError && cause.code === "commander.help") return 2;
  const fault = faultOf(cause);
  const { message, advice: remedy, code = null, exitCode } = fault;
  if (wantsJson(args)) process.stderr.write(`${JSON.stringify({ error: { code, message, remedy } })}\n`);
  else process.stderr.write(`${fitText(`${colors.red("error:")} ${message}\n${remedy}`, process.stderr.columns)}\n`);
  return exitCode;
}

function faultOf(cause: unknown): Fault {
  if (cause instanceof Fault) return cause;
  return systemFault(cause) ?? unexpected(cause);
}

/** Of a file or an address, by the code that Node gives. */
function systemFault(cause: unknown): Fault | undefined {
  if (!(cause instanceof Error && "syscall" in cause && "code" in cause)) return undefined;
  const { path } = cause as NodeJS.ErrnoException;
  return new Fault(
    cause.message,
    path === undefined ? "Try again." : `Check ${path}: its path, its rights, and the disk.`,
  );
}

const unexpected = (cause: unknown): Fault =>
  new Fault(
    cause instanceof Error ? cause.message : String(cause),
    "This is a fault of svc. Report it with the command line and what svc --version prints.",
    { cause },
  );

/** The command line may be one that cannot be parsed. */
function wantsJson(args: readonly string[]): boolean {
  const own = args.includes("--") ? args.slice(0, args.indexOf("--")) : args;
  return /(?:^| )(?:--json|-o ?json|--output[= ]json)(?: |$)/.test(own.join(" "));
}
