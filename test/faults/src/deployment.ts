import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApi } from "@svc/test-conformance/api";
import { registerLedger } from "@svc/test-conformance/ledger";
import {
  type FaultProxy,
  freePort,
  type OwnRedis,
  ownBudgets,
  type RedisServer,
  startControlPlane,
  startEnforcementPoint,
  startFaultProxy,
  startOwnRedis,
  testBearers,
} from "@svc/test-support";
import { type Balancer, startBalancer } from "./balancer.ts";
import { scope, type TlsFiles, upstreamsBefore } from "./load/books.ts";
import { type LoggingUpstream, startLoggingUpstream, type TlsIdentity } from "./load/upstream.ts";
import { addressOf, appRole, type OwnPostgres, ownerRole, startOwnPostgres } from "./postgres/server.ts";
import { type Restartable, startRestartable } from "./restartable.ts";

/** A whole deployment of real servers and processes, each of which can be broken. */
export interface Deployment<Store extends RedisServer = RedisServer> {
  readonly database: OwnPostgres;
  /** The control planes' address of the database; the server behind it can be replaced. */
  readonly databaseAddress: Balancer;
  /** The network between that address and the control planes. */
  readonly databaseNetwork: FaultProxy;
  readonly store: Store;
  readonly controlPlanes: readonly Restartable[];
  /** The enforcement points' and agents' address of the control planes. */
  readonly controlPlaneAddress: Balancer;
  readonly controlPlaneUrl: string;
  readonly enforcementPoints: readonly Restartable[];
  readonly upstream: LoggingUpstream;
  /** A scenario's further servers, which stop with this deployment. */
  alsoStop(stop: () => Promise<void>): void;
  stop(): Promise<void>;
}

export interface DeploymentOptions<Store extends RedisServer> {
  readonly startStore: () => Promise<Store>;
  readonly startDatabase?: () => Promise<OwnPostgres>;
  /** The tool's TLS, and the enforcement points' files for it. */
  readonly upstreamTls?: { readonly identity: TlsIdentity; readonly files: TlsFiles };
  /** The control planes' TLS files, and the enforcement points' trust in them. */
  readonly controlPlaneTls?: { readonly certFile: string; readonly keyFile: string; readonly caFile: string };
  /** Further settings of every control plane. */
  readonly controlPlane?: Readonly<Record<string, string>>;
  /** Further environment of every process of the service. */
  readonly env?: Readonly<Record<string, string>>;
}

/** Two control planes behind one address, two enforcement points, a database, a cache store and a tool. */
export async function startDeployment<Store extends RedisServer>(
  options: DeploymentOptions<Store>,
): Promise<Deployment<Store>> {
  const { startDatabase = startOwnPostgres, upstreamTls, controlPlaneTls, env = {} } = options;
  const scheme = controlPlaneTls === undefined ? "http" : "https";
  const folder = mkdtempSync(join(tmpdir(), "svc-faults-"));
  const [database, store, upstream] = await Promise.all([
    startDatabase(),
    options.startStore(),
    startLoggingUpstream(upstreamTls?.identity),
  ]);
  const databaseAddress = await startBalancer([database.port]);
  const databaseNetwork = await startFaultProxy(databaseAddress.port, { keepsSent: false });
  const startOne = await controlPlaneStarter(databaseNetwork.port, store, {
    ...env,
    ...(controlPlaneTls && {
      SVC_TLS_CERT_FILE: controlPlaneTls.certFile,
      SVC_TLS_KEY_FILE: controlPlaneTls.keyFile,
    }),
    ...options.controlPlane,
  });
  // The first one alone migrates; together they would only wait for each other.
  const controlPlanes = [await startOne("control plane 1"), await startOne("control plane 2")];
  const controlPlaneAddress = await startBalancer(controlPlanes.map(({ port }) => port));
  const controlPlaneUrl = `${scheme}://127.0.0.1:${controlPlaneAddress.port}`;
  await registerLedger(createApi(controlPlaneUrl, testBearers), scope);
  const configFile = join(folder, "upstreams.json");
  writeFileSync(configFile, JSON.stringify(upstreamsBefore(upstream.url, upstreamTls?.files)));
  const pepEnv = { ...env, ...(controlPlaneTls && { SVC_CONTROL_PLANE_CA_FILE: controlPlaneTls.caFile }) };
  const enforced = { url: controlPlaneUrl, configFile, folder, env: pepEnv };
  const enforcementPoints = await Promise.all(
    [1, 2].map((number) => startEnforcer(`enforcement point ${number}`, enforced)),
  );
  const guests: (() => Promise<void>)[] = [];
  return {
    ...{ database, databaseAddress, databaseNetwork, store },
    ...{ controlPlanes, controlPlaneAddress, controlPlaneUrl, enforcementPoints, upstream },
    alsoStop: (stop) => void guests.push(stop),
    async stop() {
      await Promise.all([...enforcementPoints, ...controlPlanes].map((each) => each.kill()));
      await Promise.all([controlPlaneAddress.stop(), databaseNetwork.stop(), databaseAddress.stop()]);
      await Promise.all(guests.map((stop) => stop()));
      await Promise.all([database.remove(), store.stop(), upstream.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

/** The usual deployment: one cache store. */
export const startUsualDeployment = (
  options: Omit<DeploymentOptions<OwnRedis>, "startStore"> = {},
): Promise<Deployment<OwnRedis>> => startDeployment({ startStore: () => startOwnRedis(), ...options });

async function controlPlaneStarter(
  databasePort: number,
  redis: RedisServer,
  env: Readonly<Record<string, string>> = {},
) {
  const database = { appUrl: addressOf(appRole, databasePort), ownerUrl: addressOf(ownerRole, databasePort) };
  return async (name: string): Promise<Restartable> => {
    const port = await freePort();
    const scheme = env.SVC_TLS_CERT_FILE === undefined ? "http" : "https";
    return startRestartable(name, `${scheme}://127.0.0.1:${port}`, () =>
      startControlPlane(
        { database, redis },
        { SVC_ISSUER: "https://issuer.test", ...ownBudgets, ...env, PORT: String(port) },
      ),
    );
  };
}

interface Enforced {
  readonly url: string;
  readonly configFile: string;
  readonly folder: string;
  readonly env: Readonly<Record<string, string>>;
}

/** It stores its pools of renewed tokens, as in the chart, so that sessions survive a restart. */
async function startEnforcer(name: string, { url, configFile, folder, env }: Enforced): Promise<Restartable> {
  const [port, adminPort] = [await freePort(), await freePort()];
  const stateDir = join(folder, name);
  mkdirSync(stateDir, { mode: 0o700 });
  return startRestartable(name, `http://127.0.0.1:${port}`, () =>
    startEnforcementPoint(url, configFile, {
      ...ownBudgets,
      ...env,
      SVC_PEP_LISTEN: `127.0.0.1:${port}`,
      SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
      SVC_PEP_STATE_DIR: stateDir,
      SVC_PEP_GRACE_SECONDS: "1",
    }),
  );
}
