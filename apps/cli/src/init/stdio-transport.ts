import { spawn } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { type JSONRPCMessage, ReadBuffer, serializeMessage, type Transport } from "@modelcontextprotocol/client";
import { bareEnvironment } from "@svc/host";
import { exitCodeOf } from "../run/program.ts";

/** From SIGTERM to SIGKILL. */
const graceMs = 2_000;
const keptBytes = 2_000;
const signals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

export interface GroupTransport extends Transport {
  /** How the process ended, and the last that it wrote to standard error; undefined while it runs. */
  ending(): string | undefined;
}

/**
 * A server over stdio as a process group of its own, since `npx -y` makes a tree of three processes, of which the SDK's
 * transport ends one.
 */
export function groupTransport(
  [file = "", ...args]: readonly string[],
  env: Readonly<Record<string, string>>,
): GroupTransport {
  const lines = new ReadBuffer();
  let child: ReturnType<typeof startGroup> | undefined;
  let how: string | undefined;
  let stderr = "";
  const transport: GroupTransport = {
    async start() {
      child = startGroup(file, args, env);
      child.stderr.setEncoding("utf8").on("data", (text: string) => {
        stderr = (stderr + text).slice(-keptBytes);
      });
      child.stdin.on("error", () => {});
      child.stdout.on("data", (chunk: Buffer) => {
        lines.append(chunk);
        for (let message = next(lines); message !== null; message = next(lines)) {
          if (message !== undefined) transport.onmessage?.(message);
        }
      });
      child.once("close", (code, signal) => {
        how ??= `ended (${signal ?? `exit code ${code}`})`;
        transport.onclose?.();
      });
      await once(child, "spawn").catch((cause: NodeJS.ErrnoException) => {
        how = `cannot be started (${cause.code ?? "unknown cause"})`;
        throw cause;
      });
    },
    async send(message: JSONRPCMessage) {
      child?.stdin.write(serializeMessage(message));
    },
    async close() {
      await child?.end();
    },
    ending: () => (how === undefined ? undefined : [how, stderr.trim()].filter((part) => part !== "").join(": ")),
  };
  return transport;
}

/** Null: no whole line is there. Undefined: a line that is no message. */
function next(lines: ReadBuffer): JSONRPCMessage | null | undefined {
  try {
    return lines.readMessage();
  } catch {
    return undefined;
  }
}

function startGroup(file: string, args: readonly string[], env: Readonly<Record<string, string>>) {
  const child = spawn(file, args, { env: bareEnvironment(process.env, env), stdio: "pipe", detached: true });
  const kill = (signal: NodeJS.Signals): boolean => {
    try {
      return child.pid !== undefined && process.kill(-child.pid, signal);
    } catch {
      return false;
    }
  };
  const atExit = () => void kill("SIGKILL");
  const onSignal = (name: NodeJS.Signals) => process.exit(exitCodeOf(name));
  process.once("exit", atExit);
  for (const name of signals) process.once(name, onSignal);
  const end = async () => {
    child.stdin.end();
    if (child.pid !== undefined) {
      kill("SIGTERM");
      const closed = child.exitCode === null && child.signalCode === null ? once(child, "close") : Promise.resolve();
      await Promise.race([closed, delay(graceMs, undefined, { ref: false })]);
      kill("SIGKILL");
    }
    process.off("exit", atExit);
    for (const name of signals) process.off(name, onSignal);
  };
  return Object.assign(child, { end });
}
