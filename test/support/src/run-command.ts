interface Command<Options extends { readonly help: boolean }> {
  /** As it is typed, such as `pnpm faults`. */
  readonly name: string;
  readonly help: string;
  /** @throws {Error} for a command line that it does not take */
  readonly read: () => Options;
  /** @returns the exit code */
  readonly run: (options: Options) => Promise<number>;
}

/** Runs the command line of this process: its help, or its exit code, 2 where it fails. */
export async function runCommand<Options extends { readonly help: boolean }>({
  name,
  help,
  read,
  run,
}: Command<Options>): Promise<void> {
  try {
    const options = read();
    if (options.help) process.stdout.write(help);
    else process.exitCode = await run(options);
  } catch (fault) {
    process.stderr.write(`${fault instanceof Error ? fault.message : fault}. See ${name} --help.\n`);
    process.exitCode = 2;
  }
}
