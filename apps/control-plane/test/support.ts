import { createTelemetry } from "@svc/telemetry";
import { createMigratedDatabase, patience, type TestDatabase } from "@svc/test-support";
import postgres from "postgres";
import { budgets } from "../src/budgets.ts";
import { verifySubject } from "../src/commands/hop/hop-tokens.ts";
import { createEvents } from "../src/events/events.ts";
import { authenticity } from "../src/postgres/authenticity.ts";
import { issuerKeys } from "../src/postgres/issuer-keys.ts";
import { createApp } from "../src/routes/app.ts";
import type { Deps } from "../src/routes/deps.ts";
import { compose } from "../src/start/compose.ts";
import { type Config, readConfig } from "../src/start/config.ts";
import { startRestoreWatch } from "../src/start/control-plane.ts";
import { openStores, type Stores } from "../src/start/stores.ts";

/** Other files of this worker, which share the module, test the budgets themselves. */
const own = { ...budgets };

/** Bearers of 32 characters and more, one per plane; the admin's has a label. */
export const tokens = {
  admin: "alice-admin-token-0123456789abcdef",
  audit: "audit-reader-token-0123456789abcdef",
  identity: "identity-reader-token-0123456789abcdef",
} as const;

export interface TestPlane {
  readonly deps: Deps;
  readonly stores: Stores;
  readonly database: TestDatabase;
  readonly config: Config;
  /** The app over the same stores, some ports replaced. */
  with(changes: Partial<Deps>): TestApp;
  stop(): Promise<void>;
}

/** The whole control plane on a database of its own, without a listener. */
export async function startPlane(environment: Record<string, string> = {}): Promise<TestPlane & TestApp> {
  Object.assign(budgets, patience.controlPlane);
  const database = await createMigratedDatabase();
  const config = configured({
    SVC_DEV: "true",
    DATABASE_URL: database.appUrl,
    SVC_MIGRATION_DATABASE_URL: database.ownerUrl,
    SVC_ADMIN_TOKEN: `alice=${tokens.admin}`,
    SVC_AUDIT_TOKEN: tokens.audit,
    SVC_IDENTITY_TOKEN: tokens.identity,
    SVC_ISSUER: "https://plane.test",
    ...environment,
  });
  const telemetry = createTelemetry({
    app: "control_plane",
    version: "1.2.3",
    config: { key: "k", dev: true, discloseIdentities: false, logLevel: "error", otel: {} },
  });
  const events = createEvents(telemetry);
  const stores = await openStores(config, {
    onGuardUnavailable: () => {},
    onStandbySilent: () => {},
    onDatabaseLost: () => {},
    onProgress: () => {},
  });
  const clock = { nowMs: () => Date.now() };
  const encryptionKey = new Uint8Array(32).fill(7);
  const keys = await issuerKeys({ pool: stores.reader, clock, encryptionKey, fixedKey: undefined });
  const restoreWatch = await startRestoreWatch(stores, events);
  const deps = compose({
    ...{ config, version: "1.2.3", telemetry, events, stores, issuerKeys: keys, clock, encryptionKey, restoreWatch },
    authenticity: authenticity(encryptionKey),
    lastHousekeepingMs: () => null,
    oldestUnsealedMs: () => null,
    url: "https://plane.test",
    sealsAreProven: () => true,
    isDraining: () => false,
  });
  return {
    deps,
    stores,
    database,
    config,
    ...testApp(deps),
    with(changes) {
      const changed: Deps = { ...deps, ...changes };
      return testApp({ ...changed, verifySubject: (token) => verifySubject(changed, token) });
    },
    async stop() {
      Object.assign(budgets, own);
      keys.close();
      restoreWatch.close();
      await stores.close();
      await telemetry.shutdown();
      await database.drop();
    },
  };
}

function configured(environment: Record<string, string>): Config {
  const result = readConfig(environment);
  if (!result.ok) throw new Error(result.faults.join("\n"));
  return result.config;
}

export interface Sent {
  readonly method?: string;
  readonly token?: string;
  /** Sent as it is where it is text or bytes, else as JSON. */
  readonly body?: unknown;
  readonly headers?: Record<string, string>;
}

export interface TestApp {
  /** The admin's bearer by default; none for "". */
  send(path: string, sent?: Sent): Promise<Answer>;
}

export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Json;
}

/** A JSON value whose shape the test states: any member can be read. */
export interface Json {
  readonly [member: string]: Json;
}

const testApp = (deps: Deps): TestApp => {
  const app = createApp(deps);
  return {
    async send(path, { method, token = tokens.admin, body, headers = {} } = {}) {
      const response = await app.request(path, {
        method: method ?? (body === undefined ? "GET" : "POST"),
        headers: {
          ...(token !== "" && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { "content-type": "application/json" }),
          ...headers,
        },
        ...(body !== undefined && {
          body: typeof body === "string" || body instanceof Uint8Array ? body : JSON.stringify(body),
        }),
      });
      const text = await response.text();
      const isJson = /[/+]json\b/.test(response.headers.get("content-type") ?? "");
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson && text !== "" ? JSON.parse(text) : {},
      };
    },
  };
};

/** Registers an agent whose manifest a person attests. */
export const registerAgent = (app: TestApp, name: string, manifest: object): Promise<Answer> =>
  app.send("/v1/agents", { body: { name, manifest, override: { reason: "reviewed by hand" } } });

/** Runs statements past the service, as its owner or, by default, its role. */
export async function query<Row extends object>(url: string, text: string, values: string[] = []): Promise<Row[]> {
  const sql = postgres(url, { max: 1, onnotice: () => {} });
  try {
    return await sql.unsafe<Row[]>(text, values);
  } finally {
    await sql.end();
  }
}
