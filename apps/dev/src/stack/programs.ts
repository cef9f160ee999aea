import { controlPlaneSettingNames } from "@svc/host";
import type { Bearers } from "./bearers.ts";
import type { Program } from "./child-process.ts";
import type { StackPorts } from "./ports.ts";

/** A program of the stack, and where it tells that it is ready. */
export interface StackProgram extends Omit<Program, "onLine"> {
  readonly readyUrl: string;
}

export interface StackAddresses {
  readonly controlPlane: string;
  readonly pep: string;
  readonly pepAdmin: string;
  readonly exampleMcp: string;
  readonly exampleHttp: string;
}

export const addressesOf = (ports: StackPorts): StackAddresses => ({
  controlPlane: at(ports.controlPlane),
  pep: at(ports.pep),
  pepAdmin: at(ports.pepAdmin),
  exampleMcp: `${at(ports.exampleMcp)}/mcp`,
  exampleHttp: at(ports.exampleHttp),
});

const at = (port: number): string => `http://127.0.0.1:${port}`;

interface Parts {
  /** What the command was started with: its settings apply, apart from those that hold the stack together. */
  readonly environment: NodeJS.ProcessEnv;
  readonly ports: StackPorts;
  readonly dataDir: string;
  readonly bearers: Bearers;
  /** One for all: the pseudonyms in the logs of both apps are the same then. */
  readonly telemetryKey: string;
  readonly databaseUrl: string | undefined;
  readonly redisUrl: string | undefined;
  readonly mode: string | undefined;
  readonly pepConfig: string;
}

export function controlPlaneProgram(parts: Parts): StackProgram {
  const { environment, ports, dataDir, bearers, databaseUrl, redisUrl } = parts;
  return {
    name: "control plane",
    url: import.meta.resolve("@svc/control-plane/main"),
    readyUrl: `${at(ports.controlPlane)}/readyz`,
    env: {
      SVC_DEV: "true",
      ...telemetryKeyOf(parts),
      ...withoutFiles(environment),
      HOST: "127.0.0.1",
      PORT: String(ports.controlPlane),
      SVC_DATA_DIR: dataDir,
      SVC_ADMIN_TOKEN: bearers.admin,
      SVC_AUDIT_TOKEN: bearers.audit,
      SVC_IDENTITY_TOKEN: bearers.identity,
      SVC_DISCOVERY_ALLOW: listOf(environment.SVC_DISCOVERY_ALLOW, "localhost", "127.0.0.0/8", "::1"),
      ...given("DATABASE_URL", databaseUrl),
      ...given("REDIS_URL", redisUrl),
    },
  };
}

export function pepProgram(parts: Parts): StackProgram {
  const { environment, ports, mode, pepConfig } = parts;
  return {
    name: "enforcement point",
    url: import.meta.resolve("@svc/pep/main"),
    readyUrl: `${at(ports.pepAdmin)}/__svc/readyz`,
    env: {
      SVC_DEV: "true",
      // Nobody waits for a load balancer here.
      SVC_PEP_GRACE_SECONDS: "0",
      ...telemetryKeyOf(parts),
      ...withoutControlPlane(environment),
      SVC_CONTROL_PLANE_URL: at(ports.controlPlane),
      SVC_PEP_CONFIG: pepConfig,
      SVC_PEP_LISTEN: `127.0.0.1:${ports.pep}`,
      SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${ports.pepAdmin}`,
      ...given("SVC_PEP_MODE", mode),
    },
  };
}

/** The examples get nothing of our environment: one of their tools answers with all of it. */
export const exampleMcpProgram = ({ ports }: Parts): StackProgram => ({
  name: "example MCP server",
  url: exampleUrl("mcp-server"),
  readyUrl: `${at(ports.exampleMcp)}/livez`,
  env: { PORT: String(ports.exampleMcp) },
});

export const exampleHttpProgram = ({ environment, ports }: Parts): StackProgram => ({
  name: "example ledger",
  url: exampleUrl("ledger"),
  readyUrl: `${at(ports.exampleHttp)}/livez`,
  env: {
    PORT: String(ports.exampleHttp),
    CONTROL_PLANE: at(ports.controlPlane),
    ISSUER: environment.SVC_ISSUER ?? at(ports.controlPlane),
  },
});

/** From sources as from the build: this file's own extension tells which. */
const exampleUrl = (name: string): string =>
  import.meta.resolve(`../examples/${name}${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`);

const telemetryKeyOf = ({ environment, telemetryKey }: Parts): Record<string, string> =>
  environment.SVC_TELEMETRY_KEY_FILE === undefined ? { SVC_TELEMETRY_KEY: telemetryKey } : {};

const given = (name: string, value: string | undefined): Record<string, string> =>
  value === undefined ? {} : { [name]: value };

const listOf = (...entries: readonly (string | undefined)[]): string =>
  entries.filter((entry) => entry !== undefined && entry !== "").join(",");

/** What a `_FILE` spelling gave is read already and handed over by its plain name; both together would be a fault. */
function withoutFiles(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const { SVC_ADMIN_TOKEN_FILE, SVC_AUDIT_TOKEN_FILE, SVC_IDENTITY_TOKEN_FILE, ...rest } = environment;
  return rest;
}

/** An enforcement point holds no bearer and no address of a store. */
function withoutControlPlane(environment: NodeJS.ProcessEnv): NodeJS.ProcessEnv {
  const names = new Set(controlPlaneSettingNames.flatMap((name) => [name, `${name}_FILE`]));
  return Object.fromEntries(Object.entries(environment).filter(([name]) => !names.has(name)));
}
