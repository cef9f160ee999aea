import { type ChildProcess, fork } from "node:child_process";
import type { AddressInfo } from "node:net";

export interface Helper {
  readonly url: string;
  stop(): void;
}

type HelperFile = "upstream.ts" | "pass-through.ts" | "telemetry-collector.ts";

/** A server of its own process, so that load generator, proxies and upstream do not share an event loop. */
export function startServer(file: HelperFile, args: readonly string[] = []): Promise<Helper> {
  const child: ChildProcess = fork(new URL(file, import.meta.url), args, { stdio: "inherit" });
  return new Promise((resolve, reject) => {
    child.once("exit", (code) => reject(new Error(`${file} ended with ${code} before it listened`)));
    child.once("message", (address) => {
      resolve({ url: `http://127.0.0.1:${(address as AddressInfo).port}`, stop: () => void child.kill() });
    });
  });
}
