import { spawn } from "node:child_process";
import { createSocket } from "node:dgram";
import { once } from "node:events";
import { createServer } from "node:net";
import { createInterface } from "node:readline";
import { setTimeout as delay } from "node:timers/promises";
import { fileURLToPath } from "node:url";

/** A program of this workspace, to be started as a child process. */
export interface Program {
  readonly name: string;
  /** As `import.meta.resolve` returns it. */
  readonly url: string;
  readonly args?: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** Called with each line that it writes. */
  readonly onLine?: (line: string) => void;
}

export type RunningProgram = ReturnType<typeof startProgram>;

const keptLines = 20;
const stopTimeoutMs = 20_000;
/** Long enough for an embedded database on a slow machine. */
const readyTimeoutMs = 60_000;

/** From source as from the build: this file's own extension decides. */
const dieWithParent = import.meta.resolve(`./die-with-parent${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`);

/** The command line of a program that ends at the latest with this process, given an IPC channel to it. */
export const commandLineOf = (url: string, args: readonly string[]): readonly string[] => [
  ...process.execArgv,
  "--import",
  dieWithParent,
  fileURLToPath(url),
  ...args,
];

export function startProgram({ name, url, args = [], env, onLine = () => {} }: Program) {
  const child = spawn(process.execPath, commandLineOf(url, args), {
    env,
    // A process group of its own: Ctrl-C reaches only this process, which stops the others in order.
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
    /** Resolves with the exit code or the signal's name. */
    ended,
    hasEnded,
    lastLines: () => lines.join("\n"),
    /** SIGTERM; SIGKILL after 20 s. */
    async stop() {
      if (hasEnded()) return;
      child.kill("SIGTERM");
      const timer = setTimeout(() => child.kill("SIGKILL"), stopTimeoutMs);
      await ended;
      clearTimeout(timer);
    },
  };
}

/** Resolves when `url` responds with 200. Throws where the program ends before, or is not ready within a minute. */
export async function untilReady(program: RunningProgram, url: string): Promise<void> {
  const endMs = performance.now() + readyTimeoutMs;
  while (!(await respondsOk(url))) {
    if (program.hasEnded()) throw await endedError(program);
    if (performance.now() > endMs) throw failure(program, `was not ready within ${readyTimeoutMs / 1000} s`);
    await delay(50);
  }
}

export const endedError = async (program: RunningProgram): Promise<Error> =>
  failure(program, `ended (${await program.ended})`);

const failure = (program: RunningProgram, what: string): Error =>
  new Error(`${program.name} ${what}. Its last lines:\n${program.lastLines()}`);

async function respondsOk(url: string): Promise<boolean> {
  try {
    const response = await fetch(url, { signal: AbortSignal.timeout(2_000) });
    await response.body?.cancel();
    return response.status === 200;
  } catch {
    return false;
  }
}

/** A free loopback port below 32768: the system takes none of these for outgoing connections. Reserved as below. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = 20_000 + Math.floor(Math.random() * 12_000);
    if (await reservePort(port)) return port;
  }
}

/**
 * Whether the loopback port is free. Then no other search finds it until this process ends, so that a program that
 * listens much later still can: the UDP port of the same number is held.
 */
export async function reservePort(port: number): Promise<boolean> {
  const holder = createSocket("udp4");
  try {
    holder.bind(port, "127.0.0.1");
    await once(holder, "listening");
    holder.unref();
    if (await isFree(port)) return true;
  } catch {
    // Held by another search.
  }
  holder.close();
  return false;
}

async function isFree(port: number): Promise<boolean> {
  const probe = createServer().listen(port, "127.0.0.1");
  try {
    await once(probe, "listening");
    return true;
  } catch {
    return false;
  } finally {
    probe.close();
  }
}
