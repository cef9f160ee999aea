import { chmodSync, mkdirSync, readFileSync, renameSync, statSync, writeFileSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { notTried } from "./fault.ts";

/** Which of the control plane's bearers a call needs. */
export type Plane = "admin" | "audit" | "identity";

/** A control plane and the bearers for it, kept by `svc login`. */
export interface Context {
  readonly controlPlane: string;
  readonly bearers: Readonly<Partial<Record<Plane, string>>>;
}

export interface Contexts {
  /** Used where no other is named. */
  readonly current: string | undefined;
  readonly byName: Readonly<Record<string, Context>>;
}

const none: Contexts = { current: undefined, byName: {} };

export const contextsFile = (): string =>
  join(process.env.XDG_CONFIG_HOME || join(homedir(), ".config"), "svc", "contexts.json");

/** @throws {Fault} where others could read the bearers, or the file is damaged */
export function readContexts(): Contexts {
  const file = contextsFile();
  let text: string;
  try {
    if (process.platform !== "win32" && (statSync(file).mode & 0o077) !== 0) {
      throw notTried(`others can read ${file}, which holds bearers`, `Run chmod 600 ${file}, and replace the bearers.`);
    }
    text = readFileSync(file, "utf8");
  } catch (cause) {
    if ((cause as NodeJS.ErrnoException).code === "ENOENT") return none;
    throw cause;
  }
  try {
    return { ...none, ...JSON.parse(text) };
  } catch (cause) {
    throw notTried(`${file} is no JSON`, `Remove it, and run svc login again.`, cause);
  }
}

/** Replaces the file whole, readable by its owner alone. */
export function writeContexts(contexts: Contexts): void {
  const file = contextsFile();
  mkdirSync(dirname(file), { recursive: true, mode: 0o700 });
  const next = `${file}.${process.pid}`;
  writeFileSync(next, `${JSON.stringify(contexts, null, 2)}\n`, { mode: 0o600 });
  chmodSync(next, 0o600);
  renameSync(next, file);
}

/** @param name the current one where it is undefined @throws {Fault} where there is none of this name */
export function contextOf(name: string | undefined): Context | undefined {
  const { current, byName } = readContexts();
  const wanted = name ?? current;
  const found = wanted === undefined ? undefined : byName[wanted];
  if (found !== undefined || wanted === undefined) return found;
  const names = Object.keys(byName).join(", ");
  throw notTried(
    `there is no context ${wanted}`,
    names === "" ? "Make it: svc login URL --context NAME." : `There are: ${names}. svc login makes another.`,
  );
}
