import { execFile } from "node:child_process";
import { appendFileSync, chmodSync, mkdirSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { type Child, freePort, locate, startChild, waitUntil } from "@svc/test-support";
import postgres from "postgres";
import { signalFamily } from "../processes.ts";
import { asServer } from "./account.ts";

/** A server of our own, to be frozen, killed, promoted and started again. */
export interface OwnPostgres {
  readonly port: number;
  /** The folder of its data. */
  readonly folder: string;
  /** Of the service's database, or what `at` names, for who may do everything. */
  superuserUrl(port?: number): string;
  /** Runs one statement as superuser, on a connection of its own. */
  execute(statement: string): Promise<readonly postgres.Row[]>;
  /** Stands still, its connections open: SIGSTOP to every process of it. */
  freeze(): void;
  thaw(): void;
  /** SIGKILL to every process of it. */
  kill(): Promise<void>;
  /** A fast shutdown: what is open is rolled back. */
  shutDown(): Promise<void>;
  /** On the same port and data. */
  start(): Promise<void>;
  /** Ends it and removes its data. */
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
  /** An empty folder that is there already, such as a small file system. */
  readonly parent?: string;
}

/** A fresh primary with the service's two roles and its empty database. */
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

/** Makes a folder that only the server's account may use, and returns the data folder to be made in it. */
export async function emptyFolder(parent = mkdtempSync(join(tmpdir(), "svc-faults-pg-"))): Promise<string> {
  chmodSync(parent, 0o711);
  const folder = join(parent, "data");
  mkdirSync(folder, { mode: 0o700 });
  await giveToServer(folder);
  return folder;
}

/** What root makes is of no use to the account that the server runs as. */
export async function giveToServer(path: string): Promise<void> {
  if (process.getuid?.() === 0) await run("chown", ["postgres:postgres", path]);
}

export async function runAsServer(program: string, args: readonly string[]): Promise<void> {
  const [file, all] = asServer(join(locate("postgresql"), program), args);
  await run(file, [...all], { cwd: "/" });
}

/** Runs the server on data that stands in `folder`, on a free port that it keeps. */
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
    await waitUntil("PostgreSQL to answer or to end", () => child.hasExited() || answers(port));
    if (child.hasExited()) throw new Error("PostgreSQL ended at its start", { cause: child.output() });
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

/** A backend of a killed server may hold its memory for a moment longer, and a server that recovers answers late. */
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
