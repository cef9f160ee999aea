import { pepEnvironment } from "@svc/host";
import { freePort, type Program, reservePort } from "@svc/host/child-program";
import { StartError } from "../start-error.ts";
import type { bearersOf } from "./bearers.ts";
import { callbackOf, clientId, loginSettings } from "./logins.ts";

/** Default ports of the two apps' listeners (docs/reference/settings.md#dev---json). */
const preferred = { controlPlane: 8080, pep: 16_001, pepAdmin: 16_020 } as const;

export type StackPorts = Readonly<Awaited<ReturnType<typeof choosePorts>>>;

/** The preferred ports where they are free, others where not. @param given the control plane's; 0: free ones throughout */
export async function choosePorts(given: number | undefined) {
  const take = async (wanted = 0): Promise<number> =>
    wanted !== 0 && given !== 0 && (await reservePort(wanted)) ? wanted : freePort();
  if (given && !(await reservePort(given))) {
    throw new StartError(`port ${given} is in use`, "Choose another with --port, or any free one with --port 0.");
  }
  return {
    controlPlane: given || (await take(preferred.controlPlane)),
    pep: await take(preferred.pep),
    pepAdmin: await take(preferred.pepAdmin),
    exampleMcp: await take(),
    exampleHttp: await take(),
    openidProvider: await take(),
  };
}

export interface StackProgram extends Omit<Program, "onLine"> {
  /** Responds with 200 when the program is ready. */
  readonly readyUrl: string;
}

/** The address of each listener, and of the second MCP server of the examples. */
export type StackAddresses = Readonly<Record<keyof StackPorts | "examplePayments", string>>;

export const addressesOf = (ports: StackPorts): StackAddresses => ({
  controlPlane: at(ports.controlPlane),
  pep: at(ports.pep),
  pepAdmin: at(ports.pepAdmin),
  exampleMcp: `${at(ports.exampleMcp)}/mcp`,
  examplePayments: `${at(ports.exampleMcp)}/payments`,
  exampleHttp: at(ports.exampleHttp),
  openidProvider: at(ports.openidProvider),
});

const at = (port: number): string => `http://127.0.0.1:${port}`;

interface Parts {
  /** Its settings apply, except those that connect the programs. */
  readonly environment: NodeJS.ProcessEnv;
  readonly ports: StackPorts;
  readonly dataDir: string;
  readonly bearers: ReturnType<typeof bearersOf>;
  /** The same for both apps, so that their pseudonyms in logs match. */
  readonly telemetryKey: string;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly mode: string | undefined;
  readonly pepConfig: string;
  /** Whether people sign in at the stack's own provider. */
  readonly hasProvider: boolean;
}

export function controlPlaneProgram(parts: Parts): StackProgram {
  const { environment, ports, dataDir, bearers, databaseUrl, redisUrl, hasProvider } = parts;
  return {
    name: "control plane",
    url: import.meta.resolve("@svc/control-plane/main"),
    readyUrl: `${at(ports.controlPlane)}/readyz`,
    env: {
      SVC_DEV: "true",
      ...telemetryKeyOf(parts),
      ...loginSettings({ environment, hasProvider, provider: at(ports.openidProvider), pep: at(ports.pep) }),
      ...environment,
      HOST: "127.0.0.1",
      PORT: String(ports.controlPlane),
      SVC_DATA_DIR: dataDir,
      // A setting and its `_FILE` together would be an error.
      SVC_ADMIN_TOKEN_FILE: undefined,
      SVC_AUDIT_TOKEN_FILE: undefined,
      SVC_IDENTITY_TOKEN_FILE: undefined,
      SVC_ENFORCEMENT_TOKEN_FILE: undefined,
      SVC_ADMIN_TOKEN: bearers.admin,
      SVC_AUDIT_TOKEN: bearers.audit,
      SVC_IDENTITY_TOKEN: bearers.identity,
      SVC_ENFORCEMENT_TOKEN: bearers.enforcement,
      SVC_DISCOVERY_ALLOW: [environment.SVC_DISCOVERY_ALLOW, "localhost", "127.0.0.0/8", "::1"].filter(Boolean).join(),
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl ?? environment.REDIS_URL,
    },
  };
}

export function pepProgram(parts: Parts): StackProgram {
  const { environment, ports, mode, pepConfig, bearers } = parts;
  return {
    name: "enforcement point",
    url: import.meta.resolve("@svc/pep/main"),
    readyUrl: `${at(ports.pepAdmin)}/__svc/readyz`,
    env: {
      SVC_DEV: "true",
      // No load balancer has to notice the end first.
      SVC_PEP_GRACE_SECONDS: "0",
      ...telemetryKeyOf(parts),
      SVC_PEP_PUBLIC_URL: at(ports.pep),
      ...pepEnvironment(environment),
      SVC_PEP_ENFORCEMENT_TOKEN_FILE: undefined,
      SVC_PEP_ENFORCEMENT_TOKEN: bearers.enforcement,
      SVC_CONTROL_PLANE_URL: at(ports.controlPlane),
      SVC_PEP_CONFIG: pepConfig,
      SVC_PEP_LISTEN: `127.0.0.1:${ports.pep}`,
      SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${ports.pepAdmin}`,
      SVC_PEP_MODE: mode ?? environment.SVC_PEP_MODE,
    },
  };
}

/** The examples get nothing of our environment: one of their tools returns all of it. */
export const examplePrograms = ({ environment, ports }: Parts): readonly StackProgram[] => [
  {
    name: "example MCP servers",
    url: exampleUrl("mcp-server"),
    readyUrl: `${at(ports.exampleMcp)}/livez`,
    env: { PORT: String(ports.exampleMcp) },
  },
  {
    name: "example ledger",
    url: exampleUrl("ledger"),
    readyUrl: `${at(ports.exampleHttp)}/livez`,
    env: {
      PORT: String(ports.exampleHttp),
      CONTROL_PLANE: at(ports.controlPlane),
      ISSUER: environment.SVC_ISSUER ?? at(ports.controlPlane),
    },
  },
];

/** For development: it asks people for no password. */
export const providerProgram = ({ environment, ports }: Parts): StackProgram => ({
  name: "OpenID provider",
  url: sibling("provider/main"),
  readyUrl: `${at(ports.openidProvider)}/livez`,
  env: {
    PORT: String(ports.openidProvider),
    CLIENT_ID: clientId,
    CALLBACK: callbackOf(environment.SVC_ISSUER ?? at(ports.controlPlane)),
  },
});

const exampleUrl = (name: string): string => sibling(`examples/${name}`);

/** From source as from the build: this file's own extension decides. */
const sibling = (path: string): string =>
  import.meta.resolve(`../${path}${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`);

const telemetryKeyOf = ({ environment, telemetryKey }: Parts): Record<string, string> =>
  environment.SVC_TELEMETRY_KEY_FILE === undefined ? { SVC_TELEMETRY_KEY: telemetryKey } : {};
