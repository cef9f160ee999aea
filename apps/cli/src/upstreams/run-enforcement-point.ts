import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { withoutSettings } from "@svc/host";
import { commandLineOf } from "@svc/host/child-program";
import { notTried } from "../fault.ts";

/**
 * Only the enforcement point reads its file, its routes and its rules.
 * @returns what it prints @throws {Fault} with this advice, where it exits with another code than 0 and 1
 */
export async function runEnforcementPoint(args: readonly string[], advice: string, input = ""): Promise<string> {
  const child = spawn(process.execPath, commandLineOf(import.meta.resolve("@svc/pep/main"), args), {
    env: withoutSettings(process.env),
    stdio: ["pipe", "pipe", "pipe", "ipc"],
  });
  child.stdin?.on("error", () => {}).end(input);
  const read = (stream: NodeJS.ReadableStream | null) => (stream ? text(stream) : "");
  const [stdout, stderr, [code]] = await Promise.all([read(child.stdout), read(child.stderr), once(child, "exit")]);
  if (code !== 0 && (code !== 1 || stdout === "")) throw notTried(stderr.trim(), advice);
  return stdout;
}
