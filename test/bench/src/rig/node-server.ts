import { type ChildProcess, fork } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { freePort } from "@svc/test-support";

export interface RunningServer {
  readonly url: string;
  readonly pid: number;
  stop(): Promise<void>;
}

/**
 * A server in its own process, so that load generator, proxies and upstream do not share an event loop. It listens on
 * `PORT`, below the range of outgoing connections, and reports it with one message.
 * @param file within this package's sources
 */
export async function startServer(
  file: string,
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<RunningServer> {
  const port = await freePort();
  const child: ChildProcess = fork(fileURLToPath(new URL(`../${file}`, import.meta.url)), args, {
    stdio: ["ignore", "ignore", "inherit", "ipc"],
    env: { PATH: process.env.PATH, PORT: String(port), ...env },
  });
  const exited = once(child, "exit");
  await new Promise<void>((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code} before it listened`)));
    child.once("message", () => resolve());
  });
  return {
    url: `http://127.0.0.1:${port}`,
    pid: child.pid ?? 0,
    stop: async () => {
      child.kill();
      await exited;
    },
  };
}
