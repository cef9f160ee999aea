import { z } from "zod";

/** The address of an upstream whose server is a child process; it is connected to nothing. */
export const stdioUrl = "http://stdio.invalid/mcp";

const variable = z
  .string()
  .regex(/^[A-Za-z_][A-Za-z0-9_]*$/, "must be the name of a variable")
  .refine((name) => !/^SVC_/i.test(name), "must not be a setting of ours");

const value = z.union([
  z.string(),
  z.strictObject({ file: z.string().min(1).describe("A file with the value, read again when it changes.") }),
]);

/** The settings of an upstream that is started as a child process (docs/reference/enforcement-point.md#stdio-servers). */
export const stdioSettings = {
  command: z
    .tuple([z.string().min(1)], z.string())
    .optional()
    .describe("In place of `url`: program and arguments of a server over stdio; no shell reads them."),
  env: z
    .record(variable, value)
    .optional()
    .describe("Variables of the process, besides the usual ones. `{file}` reads the value from a file."),
  cwd: z.string().min(1).optional().describe("Working directory; by default the enforcement point's."),
  max_processes: z.int().min(1).max(1_000).optional().describe("Processes at once; 16 by default."),
  max_memory_mib: z
    .int()
    .min(1)
    .optional()
    .describe("Resident memory of a process and all it started; 1024 by default."),
  idle_seconds: z
    .int()
    .min(1)
    .max(86_400)
    .optional()
    .describe("A process ends after this long without a call or an open stream; 300 by default."),
};

const defaults = { max_processes: 16, max_memory_mib: 1_024, idle_seconds: 300 };

export interface StdioServer {
  /** The upstream's. */
  readonly name: string;
  readonly command: readonly [string, ...string[]];
  /** Besides what every server gets (docs/reference/enforcement-point.md#stdio-servers). */
  readonly env: Readonly<Record<string, string>>;
  readonly cwd: string | undefined;
  readonly maxProcesses: number;
  readonly maxMemoryBytes: number;
  readonly idleMs: number;
}

type StdioEntry = { readonly name: string } & z.output<z.ZodObject<typeof stdioSettings>>;

/** @param readFile returns the text of a file that holds a value */
export function stdioServerOf(entry: StdioEntry, readFile: (path: string) => string): StdioServer | undefined {
  const { name, command, env = {}, cwd } = entry;
  if (command === undefined) return undefined;
  const values = Object.entries(env).map(([variable, value]): [string, string] => [
    variable,
    typeof value === "string" ? value : readFile(value.file).replace(/\r?\n$/, ""),
  ]);
  const { max_processes, max_memory_mib, idle_seconds } = { ...defaults, ...withoutUndefined(entry) };
  return {
    ...{ name, command, cwd, env: Object.fromEntries(values) },
    maxProcesses: max_processes,
    maxMemoryBytes: max_memory_mib * 1024 * 1024,
    idleMs: idle_seconds * 1000,
  };
}

const withoutUndefined = ({ max_processes, max_memory_mib, idle_seconds }: StdioEntry): Partial<typeof defaults> =>
  Object.fromEntries(
    Object.entries({ max_processes, max_memory_mib, idle_seconds }).filter(([, value]) => value !== undefined),
  );

type Checked = StdioEntry & {
  readonly url?: string | undefined;
  readonly tls: object;
  readonly credential: unknown;
  readonly routes: readonly unknown[];
};

const faultOf = ({ url, tls, credential, routes, ...entry }: Checked): string | undefined => {
  if ((url === undefined) === (entry.command === undefined)) return "needs either url or command";
  if (url !== undefined) {
    const names = Object.keys(stdioSettings).filter((name) => Object.hasOwn(entry, name));
    return names.length === 0 ? undefined : `only with command: ${names.join(", ")}`;
  }
  const isPlain = Object.keys(tls).length === 0 && credential === "hop_token" && routes.length === 0;
  return isPlain ? undefined : "only with url: tls, credential, routes";
};

/** Settings that need each other, or exclude each other. */
export const checkStdio: z.core.CheckFn<Checked> = ({ value, issues }) => {
  const message = faultOf(value);
  if (message !== undefined) issues.push({ code: "custom", message, input: value });
};
