import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { freePort, installDebianPackages, startChild, waitUntil } from "@svc/test-support";
import { request } from "undici";
import type { RunningServer } from "./node-server.ts";

/** Debian packages of the compared programs. */
const packages = { nginx: "nginx-light", haproxy: "haproxy", pgbench: "postgresql" } as const;
export type Program = keyof typeof packages;

const folders = ["/usr/sbin", "/usr/bin", "/usr/local/bin", "/usr/local/sbin"];

/** Its path, first installed where possible; undefined where unavailable, with the reason. */
export function findProgram(name: Program): { readonly path: string } | { readonly why: string } {
  const found = () =>
    spawnSync("/bin/sh", ["-c", `command -v ${name}`], { env: environment() })
      .stdout.toString()
      .trim();
  const path = found() || (installDebianPackages([packages[name]]) === undefined && found());
  if (path) return { path };
  const how = `apt-get install ${packages[name]}`;
  return { why: process.getuid?.() === 0 ? `it could not be installed: try ${how}` : `it is not installed: ${how}` };
}

const environment = () => ({ PATH: [process.env.PATH, ...folders].join(":") });

export interface ProgramOptions {
  readonly path: string;
  /** @param folder where `files` are */
  readonly args: (folder: string) => readonly string[];
  /** By name, made for the port it listens on. */
  readonly files: (port: number, folder: string) => Readonly<Record<string, string>>;
  /** Returns 200 once it runs. */
  readonly readyPath: string;
}

/** A program that is configured by files and serves HTTP on a loopback port. */
export async function startProgram({ path, args, files, readyPath }: ProgramOptions): Promise<RunningServer> {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
  const port = await freePort();
  for (const [name, text] of Object.entries(files(port, folder))) {
    mkdirSync(dirname(join(folder, name)), { recursive: true });
    writeFileSync(join(folder, name), text);
  }
  const child = startChild(path, args(folder), { env: environment(), cwd: folder });
  const url = `http://127.0.0.1:${port}`;
  try {
    await waitUntil(`${path} to respond`, () => child.hasExited() || isReady(url + readyPath), 20_000);
    if (child.hasExited()) throw new Error("it exited at its start");
  } catch (cause) {
    await child.stop();
    throw new Error(`${path} did not start:\n${child.output()}`, { cause });
  }
  return {
    url,
    pid: child.pid,
    async stop() {
      await child.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

async function isReady(url: string): Promise<boolean> {
  const { statusCode, body } = await request(url, { headersTimeout: 2_000 });
  await body.dump();
  return statusCode === 200;
}
