import { type FileHandle, open, readFile, rename, stat, truncate, writeFile } from "node:fs/promises";
import { notTried } from "./fault.ts";

interface State {
  /** The export's query: another export must not continue in this file. */
  readonly query: string;
  readonly sinceMs: number;
  /** The file has everything before this time. */
  readonly untilMs: number;
  /** The file's length then: the rest was written when the process ended. */
  readonly bytes: number;
}

export interface ExportFile {
  readonly sinceMs: number;
  readonly fromMs: number;
  /** Appends the lines of everything before `untilMs` and stores the state; durable when it resolves. */
  append(lines: string, untilMs: number): Promise<void>;
  close(): Promise<void>;
}

/** Creates the file, or continues an interrupted export of the same query. */
export async function openExport(path: string, query: string, sinceMs: number): Promise<ExportFile> {
  const statePath = `${path}.state`;
  const before = await readState(statePath);
  if (before !== undefined && before.query !== query) {
    throw notTried(`${path} holds another export`, `Choose another file, or remove it and ${statePath}.`);
  }
  let state: State = before ?? { query, sinceMs, untilMs: sinceMs, bytes: 0 };
  if (before !== undefined) await cutTo(path, state.bytes);
  const file = await openFile(path, before === undefined ? "wx" : "a");
  if (before === undefined) await writeState(statePath, state);
  return {
    sinceMs: state.sinceMs,
    fromMs: state.untilMs,
    async append(lines, untilMs) {
      await file.appendFile(lines);
      await file.datasync();
      state = { ...state, untilMs, bytes: state.bytes + Buffer.byteLength(lines) };
      await writeState(statePath, state);
    },
    close: () => file.close(),
  };
}

/** Truncating a file that is shorter would lengthen it. */
async function cutTo(path: string, bytes: number): Promise<void> {
  const length = await stat(path).then(
    ({ size }) => size,
    () => 0,
  );
  if (length < bytes) {
    throw notTried(`${path} is shorter than it was`, `Remove it and ${path}.state, and export again.`);
  }
  await truncate(path, bytes);
}

const openFile = (path: string, flags: string): Promise<FileHandle> =>
  open(path, flags, 0o600).catch((cause: unknown) => {
    throw notTried(`${path} cannot be written`, "Choose a new file in a folder that you can write to.", cause);
  });

async function readState(path: string): Promise<State | undefined> {
  try {
    return JSON.parse(await readFile(path, "utf8")) as State;
  } catch {
    return undefined;
  }
}

/** Replaced atomically. */
async function writeState(path: string, state: State): Promise<void> {
  await writeFile(`${path}.new`, JSON.stringify(state), { mode: 0o600, flush: true });
  await rename(`${path}.new`, path);
}
