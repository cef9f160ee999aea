import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { freePort } from "@svc/host/child-program";
import { request } from "undici";
import { type Child, startChild } from "./child.ts";
import { keepsCompiled } from "./compiled.ts";
import { ownBudgets } from "./patience.ts";
import { waitUntil } from "./wait-until.ts";

/** The entry points of the apps, run as published: compiled, configured by environment alone. */
export type AppMain =
  | "@svc/control-plane/main"
  | "@svc/pep/main"
  | "@svc/injector/main"
  | "@svc/cli/main"
  | "@svc/dev/main";

export interface AppOptions {
  readonly main: AppMain;
  readonly args?: readonly string[];
  /** Its whole environment besides `PATH`. */
  readonly env: Readonly<Record<string, string>>;
  /** It has started when this returns 200. */
  readonly readyUrl: string;
  /** A prefix command, such as `["ip", "netns", "exec", name]`. */
  readonly within?: readonly string[];
}

/** The file to start: compiled, as published, which also starts twice as fast as the sources. */
export const programOf = (main: AppMain, checkout = thisCheckout): string =>
  join(checkout, main.replace("@svc/", "apps/").replace("/main", "/dist/main.js"));
const thisCheckout = fileURLToPath(new URL("../../..", import.meta.url));

/** In the environment of an app: it is started as built in this checkout of another release. */
export const fromCheckout = (folder: string) => ({ TEST_CHECKOUT: folder });
const bePatient = new URL("./be-patient.ts", import.meta.url).href;

/** Starts an app without waiting for it. */
export function spawnApp({ main, args = [], env, within = [] }: Omit<AppOptions, "readyUrl">): Child {
  const [file = process.execPath, ...before] = [...within, process.execPath];
  // Before the program, so that its child processes inherit it.
  const patient = env.TEST_BUDGETS === ownBudgets.TEST_BUDGETS ? [] : ["--import", bePatient];
  return startChild(file, [...before, ...patient, programOf(main, env.TEST_CHECKOUT), ...args], {
    env: { PATH: process.env.PATH, ...keepsCompiled(), ...env },
  });
}

/** Throws with the app's output when it exits before it is ready, or is not ready in time. */
export async function startApp({ readyUrl, ...options }: AppOptions): Promise<Child> {
  const child = spawnApp(options);
  try {
    await waitUntil(`${options.main} to be ready`, () => child.hasExited() || answersOk(readyUrl));
  } catch (cause) {
    await child.stop();
    throw new Error(`${options.main} did not become ready:\n${child.output()}`, { cause });
  }
  if (child.hasExited()) throw new Error(`${options.main} exited at its start:\n${child.output()}`);
  return child;
}

async function answersOk(url: string): Promise<boolean> {
  const { statusCode, body } = await request(url, { headersTimeout: 2000 });
  await body.dump();
  return statusCode === 200;
}

export interface ControlPlane extends Child {
  readonly url: string;
  /** SIGKILL: only its stores keep state. */
  stop(): ReturnType<Child["stop"]>;
  /** As an orchestrator does: SIGTERM, and time to drain. */
  shutDown(): ReturnType<Child["stop"]>;
}

/** The bearers of control planes from `startControlPlane`. */
export const testBearers = {
  admin: "admin-token-of-the-tests-0123456789abcdef",
  audit: "audit-token-of-the-tests-0123456789abcdef",
  identity: "identity-token-of-the-tests-0123456789ab",
  enforcement: "enforcement-token-of-the-tests-0123456789",
} as const;

/**
 * A control plane on a free port and the given stores; it may discover on loopback.
 * @param env further settings, which override those made here
 * @param within a prefix command
 * @param servesOnce the path that returns 200 once it serves: `/livez` where it does not become ready
 */
export async function startControlPlane(
  stores: ControlPlaneStores,
  env: Readonly<Record<string, string>> = {},
  within: readonly string[] = [],
  servesOnce: "/readyz" | "/livez" = "/readyz",
): Promise<ControlPlane> {
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await startControlPlaneOn(env.PORT ?? String(await freePort()), { stores, env, within, servesOnce });
    } catch (cause) {
      // On a busy machine the database may respond too late.
      if (env.PORT !== undefined || attempt === 5 || !String(cause).includes("no answer within")) throw cause;
    }
  }
}

interface ControlPlaneStores {
  readonly database: { readonly appUrl: string; readonly ownerUrl: string };
  readonly redis?: { readonly url: string } | undefined;
}

interface ControlPlaneStart {
  readonly stores: ControlPlaneStores;
  readonly env: Readonly<Record<string, string>>;
  readonly within: readonly string[];
  readonly servesOnce: string;
}

async function startControlPlaneOn(
  port: string,
  { stores, env, within, servesOnce }: ControlPlaneStart,
): Promise<ControlPlane> {
  const url = `${env.SVC_TLS_CERT_FILE === undefined ? "http" : "https"}://${env.HOST ?? "127.0.0.1"}:${port}`;
  const child = await startApp({
    main: "@svc/control-plane/main",
    readyUrl: `${url}${servesOnce}`,
    within,
    env: {
      HOST: "127.0.0.1",
      PORT: port,
      DATABASE_URL: stores.database.appUrl,
      SVC_MIGRATION_DATABASE_URL: stores.database.ownerUrl,
      ...(stores.redis === undefined ? {} : { REDIS_URL: stores.redis.url }),
      SVC_ADMIN_TOKEN: testBearers.admin,
      SVC_AUDIT_TOKEN: testBearers.audit,
      SVC_IDENTITY_TOKEN: testBearers.identity,
      SVC_ENFORCEMENT_TOKEN: testBearers.enforcement,
      SVC_TELEMETRY_KEY: "telemetry-key-of-the-tests",
      SVC_KEY_ENCRYPTION_KEY: Buffer.alloc(32, 7).toString("base64"),
      SVC_DISCOVERY_ALLOW: "127.0.0.0/8,::1",
      ...env,
    },
  });
  const stop = () => {
    child.kill("SIGKILL");
    return child.exited;
  };
  return { ...child, url, stop, shutDown: child.stop };
}

export interface EnforcementPoint extends Child {
  /** Of the proxy listener. */
  readonly url: string;
  /** Of the listener for health and metrics. */
  readonly adminUrl: string;
}

/**
 * An enforcement point, on free ports unless `env` says otherwise.
 * @param configFile its upstreams, as YAML or JSON
 * @param env further settings, which override those made here
 */
export async function startEnforcementPoint(
  controlPlaneUrl: string,
  configFile: string,
  env: Readonly<Record<string, string>> = {},
): Promise<EnforcementPoint> {
  const listen = env.SVC_PEP_LISTEN ?? `127.0.0.1:${await freePort()}`;
  const adminListen = env.SVC_PEP_ADMIN_LISTEN ?? `127.0.0.1:${await freePort()}`;
  const child = await startApp({
    main: "@svc/pep/main",
    readyUrl: `http://${adminListen}/__svc/readyz`,
    env: {
      SVC_CONTROL_PLANE_URL: controlPlaneUrl,
      SVC_PEP_CONFIG: configFile,
      SVC_PEP_LISTEN: listen,
      SVC_PEP_ADMIN_LISTEN: adminListen,
      SVC_TELEMETRY_KEY: "telemetry-key-of-the-tests",
      // It would wait for its agent to end.
      SVC_PEP_GRACE_SECONDS: "0",
      ...env,
    },
  });
  return { ...child, url: `http://${listen}`, adminUrl: `http://${adminListen}` };
}
