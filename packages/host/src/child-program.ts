import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A program of the stack. */
export interface StackProcess {
  readonly name: string;
  /** Resolves when it has ended, however that came: its exit code or the signal's name. */
  readonly ended: Promise<number | NodeJS.Signals>;
  hasEnded(): boolean;
  /** The last lines it wrote. */
  lastLines(): string;
  /** SIGTERM, and SIGKILL for one that does not follow in time. */
  stop(): Promise<void>;
}

export interface Program {
  readonly name: string;
  /** As `import.meta.resolve` gives it. */
  readonly url: string;
  readonly args?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Called with each line that it writes. */
  readonly onLine?: (line: string) => void;
}

const keptLines = 20;
const stopTimeoutMs = 20_000;

/** From sources as from the build: this file's own extension tells which. */
const dieWithParent = import.meta.resolve(`./die-with-parent${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`);

/** Starts a program of this workspace. It ends at the latest with this process. */
export function startProcess({ name, url, args = [], env, onLine = () => {} }: Program): StackProcess {
  const program = [...process.execArgv, "--import", dieWithParent, fileURLToPath(url), ...args];
  const child = spawn(process.execPath, program, {
    env,
    // Of its own process group: Ctrl-C reaches this process alone, which stops the others in order.
    detached: true,
    stdio: ["ignore", "pipe", "pipe", "ipc"],
  });
  child.channel?.unref();
  const lines: string[] = [];
  const keep = (line: string) => {
    lines.push(line);
    if (lines.length > keptLines) lines.shift();
    onLine(line);
  };
  for (const stream of [child.stdout, child.stderr]) if (stream) createInterface({ input: stream }).on("line", keep);
  const ended = Promise.race([
    once(child, "exit").then(([code, signal]) => (code ?? signal) as number | NodeJS.Signals),
    once(child, "error").then(([cause]) => {
      keep(String(cause));
      return 1;
    }),
  ]);
  const hasEnded = () => child.exitCode !== null || child.signalCode !== null || child.pid === undefined;
  return {
    name,
    ended,
    hasEnded,
    lastLines: () => lines.join("\n"),
    async stop() {
      if (hasEnded()) return;
      child.kill("SIGTERM");
      const settled = new AbortController();
      const late = delay(stopTimeoutMs, true, { signal: settled.signal }).catch(() => false);
      if (await Promise.race([ended.then(() => false), late])) child.kill("SIGKILL");
      settled.abort();
      await ended;
    },
  };
}
