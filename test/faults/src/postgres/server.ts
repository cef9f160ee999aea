import { execFile } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Child, freePort, locate, startChild, waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { signalFamily } from "../processes.ts";
import { asServer } from "./account.ts";

/** Our own server, which can be stopped, killed, promoted and started again. */
export interface OwnPostgres {
  readonly port: number;
  /** The folder of its data. */
  readonly folder: string;
  /** The superuser's address of the service's database, or of `at`. */
  superuserUrl(port?: number): string;
  /** Runs one statement as superuser, on its own connection. */
  execute(statement: string): Promise<readonly postgres.Row[]>;
  /** SIGSTOP to every process: it does not respond, and its connections stay open. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL to every process of it. */
  kill(): Promise<void>;
  /** A fast shutdown: open transactions are rolled back. */
  shutDown(): Promise<void>;
  /** On the same port and data. */
  start(): Promise<void>;
  /** Stops it and removes its data. */
  remove(): Promise<void>;
}

const run = promisify(execFile);
const database = "svc";

export const ownerRole = "svc_owner";
export const appRole = "svc_app";

/** The address of the service's database behind a port, for one of its roles. */
export const addressOf = (role: string, port: number, name: string = database): string =>
  `postgres://${role}@127.0.0.1:${port}/${name}`;

export interface PostgresOptions {
  /** Lines of its configuration file. */
  readonly settings?: readonly string[];
  /** An existing empty folder, such as a small file system. */
  readonly parent?: string;
}

/** A new primary with the service's two roles and its empty database. */
export async function startOwnPostgres({ settings = [], parent }: PostgresOptions = {}): Promise<OwnPostgres> {
  const folder = await emptyFolder(parent);
  await runAsServer("initdb", [
    `--pgdata=${folder}`,
    "--username=postgres",
    ...["--auth=trust", "--encoding=UTF8", "--locale=C", "--no-sync"],
  ]);
  const server = await startOn(folder, settings);
  const admin = postgres(addressOf("postgres", server.port, "postgres"), { max: 1, onnotice: () => {} });
  try {
    await admin.unsafe(`create role ${ownerRole} login`);
    await admin.unsafe(`create role ${appRole} login`);
    await admin.unsafe(`alter role ${appRole} set synchronous_commit = on`);
    await admin.unsafe(`create database ${database} owner ${ownerRole}`);
  } finally {
    await admin.end();
  }
  return server;
}

/** Makes a folder for the server's account alone, and returns the data folder inside it. */
export async function emptyFolder(parent = mkdtempSync(join(tmpdir(), "svc-faults-pg-"))): Promise<string> {
  chmodSync(parent, 0o711);
  const folder = join(parent, "data");
  mkdirSync(folder, { mode: 0o700 });
  await giveToServer(folder);
  return folder;
}

/** The server's account cannot use files that root made. */
export async function giveToServer(path: string): Promise<void> {
  if (process.getuid?.() === 0) await run("chown", ["postgres:postgres", path]);
}

export async function runAsServer(program: string, args: readonly string[]): Promise<void> {
  const [file, all] = asServer(join(locate("postgresql"), program), args);
  await run(file, [...all], { cwd: "/" });
}

/** Runs the server on the data in `folder`, on a free port that it keeps. */
export async function startOn(folder: string, settings: readonly string[] = []): Promise<OwnPostgres> {
  const port = await freePort();
  appendFileSync(
    join(folder, "postgresql.conf"),
    [
      "",
      `port = ${port}`,
      "listen_addresses = '127.0.0.1'",
      "unix_socket_directories = ''",
      "max_connections = 200",
      ...settings,
      "",
    ].join("\n"),
  );
  const superuserUrl = (at = port) => addressOf("postgres", at);
  const launch = async (): Promise<Child> => {
    const [file, args] = asServer(join(locate("postgresql"), "postgres"), ["-D", folder]);
    const child = startChild(file, args, { cwd: "/" });
    await waitUntil("PostgreSQL to respond or to exit", () => child.hasExited() || answers(port));
    if (child.hasExited()) throw new Error("PostgreSQL exited at its start", { cause: child.output() });
    return child;
  };
  let child = await launch();
  const end = async (signal: NodeJS.Signals) => {
    signalFamily(child.pid, "SIGCONT");
    child.kill(signal);
    await child.exited;
  };
  return {
    port,
    folder,
    superuserUrl,
    execute: (statement) => executeOn(superuserUrl(), statement),
    freeze: () => signalFamily(child.pid, "SIGSTOP"),
    thaw: () => signalFamily(child.pid, "SIGCONT"),
    async kill() {
      signalFamily(child.pid, "SIGKILL");
      await child.exited;
    },
    shutDown: () => end("SIGINT"),
    async start() {
      child = await launch();
    },
    async remove() {
      if (!child.hasExited()) await end("SIGQUIT");
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** A backend of a killed server may hold its memory for a moment, and a recovering server responds late. */
async function answers(port: number): Promise<boolean> {
  await executeOn(addressOf("postgres", port, "postgres"), "select 1");
  return true;
}

async function executeOn(url: string, statement: string): Promise<readonly postgres.Row[]> {
  const sql = postgres(url, { max: 1, connect_timeout: 2, onnotice: () => {} });
  try {
    return await sql.unsafe(statement);
  } finally {
    await sql.end({ timeout: 1 });
  }
}
