import { randomBytes } from "node:crypto";
import { chmodSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { startEmbeddedPostgres } from "@svc/embedded/database";
import postgres from "postgres";

/** A server and the two login roles of every test database. */
export interface PostgresServer {
  readonly superuserUrl: string;
  readonly ownerUrl: string;
  readonly appUrl: string;
  stop(): Promise<void>;
}

/** The server of `DATABASE_URL` (its user must be able to create roles and databases), else an embedded one. */
export async function startPostgres(): Promise<PostgresServer> {
  const url = process.env.DATABASE_URL;
  return url === undefined ? embeddedServer() : externalServer(url);
}

async function embeddedServer(): Promise<PostgresServer> {
  const dataDir = mkdtempSync(join(tmpdir(), "svc-postgres-"));
  // The server's account needs access to the parent folder.
  chmodSync(dataDir, 0o711);
  const remove = () => rmSync(dataDir, { recursive: true, force: true });
  process.once("exit", remove);
  const server = await startEmbeddedPostgres({ dataDir });
  return {
    ...server,
    async stop() {
      await server.stop();
      process.removeListener("exit", remove);
      remove();
    },
  };
}

async function externalServer(superuserUrl: string): Promise<PostgresServer> {
  const run = randomBytes(4).toString("hex");
  const roles = ["owner", "app"].map((kind) => ({
    name: `svc_test_${kind}_${run}`,
    password: randomBytes(16).toString("hex"),
  }));
  await execute(superuserUrl, ...roles.map(({ name, password }) => `create role ${name} login password '${password}'`));
  const [ownerUrl = "", appUrl = ""] = roles.map(
    ({ name, password }) => Object.assign(new URL(superuserUrl), { username: name, password }).href,
  );
  return {
    superuserUrl,
    ownerUrl,
    appUrl,
    stop: () => execute(superuserUrl, ...roles.map(({ name }) => `drop role if exists ${name}`)),
  };
}

/** A new database for one test. */
export interface TestDatabase {
  /** For migrations. */
  readonly ownerUrl: string;
  /** For the service. */
  readonly appUrl: string;
  /** For acts of a database administrator. */
  readonly superuserUrl: string;
  drop(): Promise<void>;
}

/** On the run's shared server, else on this process's own. */
export async function createDatabase(): Promise<TestDatabase> {
  const server = await sharedServer();
  const name = `svc_test_${randomBytes(6).toString("hex")}`;
  await execute(server.superuserUrl, `create database ${name} owner ${new URL(server.ownerUrl).username}`);
  const at = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  return {
    ownerUrl: at(server.ownerUrl),
    appUrl: at(server.appUrl),
    superuserUrl: at(server.superuserUrl),
    drop: () => execute(server.superuserUrl, `drop database if exists ${name} with (force)`),
  };
}

/** Test processes find the run's server by environment variables, the only thing they share. */
export const sharedServerVariable = "TEST_POSTGRES";

let ownServer: Promise<PostgresServer> | undefined;

async function sharedServer(): Promise<Omit<PostgresServer, "stop">> {
  const shared = process.env[sharedServerVariable];
  if (shared !== undefined) return JSON.parse(shared);
  ownServer ??= startPostgres();
  return ownServer;
}

async function execute(url: string, ...statements: readonly string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    for (const statement of statements) await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}
