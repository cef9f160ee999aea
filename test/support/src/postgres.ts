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

/** Empty: for tests of migrations and of starts that migrate. On the run's shared server, else on this process's own. */
export const createDatabase = async (): Promise<TestDatabase> => createOn(await sharedServer());

/**
 * With the schema of this release, copied from one database that the service migrated: a start then finds its migrations
 * applied, at a fraction of their cost.
 */
export async function createMigratedDatabase(): Promise<TestDatabase> {
  const server = await sharedServer();
  const database = await createOn(server, server.template);
  // A copy is another deployment, as a database that was migrated by itself is.
  await execute(
    database.ownerUrl,
    "update witness set deployment = gen_random_uuid()",
    "update denial_epoch set epoch = gen_random_uuid()",
  );
  return database;
}

type Server = Omit<PostgresServer, "stop">;

async function createOn({ superuserUrl, ownerUrl, appUrl }: Server, template = "template1"): Promise<TestDatabase> {
  const name = `svc_test_${randomBytes(6).toString("hex")}`;
  const owner = new URL(ownerUrl).username;
  await execute(superuserUrl, `create database ${name} template ${template} owner ${owner}`);
  const at = (url: string) => Object.assign(new URL(url), { pathname: `/${name}` }).href;
  return {
    ownerUrl: at(ownerUrl),
    appUrl: at(appUrl),
    superuserUrl: at(superuserUrl),
    drop: () => execute(superuserUrl, `drop database if exists ${name} with (force)`),
  };
}

/** Test processes find the run's server by environment variables, the only thing they share. */
export const sharedServerVariable = "TEST_POSTGRES";

/** The value of that variable. */
export interface SharedServer extends Server {
  /** The name of a database that has the schema of this release. */
  readonly template: string;
}

let ownServer: Promise<SharedServer> | undefined;

async function sharedServer(): Promise<SharedServer> {
  const shared = process.env[sharedServerVariable];
  if (shared !== undefined) return JSON.parse(shared);
  ownServer ??= startPostgres().then(async (server) => ({ ...server, ...(await migratedTemplate(server)) }));
  return ownServer;
}

/** Runs the service's own migrations, as built, in a database of the server. */
export async function migratedTemplate(server: Server): Promise<{ readonly template: string; drop(): Promise<void> }> {
  const database = await createOn(server);
  const { migrate } = await import(
    new URL("../../../apps/control-plane/dist/postgres/migrate.js", import.meta.url).href
  );
  await migrate(database);
  const template = new URL(database.ownerUrl).pathname.slice(1);
  // Nothing connects to it, so that it can be copied at any time.
  await execute(server.superuserUrl, `alter database ${template} with allow_connections false`);
  return { template, drop: database.drop };
}

async function execute(url: string, ...statements: readonly string[]): Promise<void> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    for (const statement of statements) await sql.unsafe(statement);
  } finally {
    await sql.end();
  }
}
