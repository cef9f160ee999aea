import { createMigratedDatabase, startControlPlane, startRedisIfThere, testBearers } from "@svc/test-support";
import { generatePrivateJwk, type PrivateJwk } from "@svc/tokens";
import { type Api, createApi, type Tokens } from "./api.ts";

/** The control plane under test. */
export interface Deployment {
  readonly url: string;
  readonly adminToken: string;
  /** Null where unknown; the admin token is used then. */
  readonly auditToken: string | null;
  readonly identityToken: string | null;
  /** Null where unknown; no other bearer opens its plane. */
  readonly enforcementToken: string | null;
  /** Null where unknown; known for our own deployment alone. */
  readonly issuerKey: PrivateJwk | null;
  /** Whether agents' capabilities may be discovered on this machine's loopback addresses. */
  readonly readsLoopback: boolean;
}

/** The runner passes the deployment to the test processes by environment variables, the only thing they share. */
export const deploymentVariable = "CONFORMANCE_DEPLOYMENT";

const named = (): Deployment | undefined => {
  const text = process.env[deploymentVariable];
  return text === undefined ? undefined : JSON.parse(text);
};

/** Capabilities beyond the interface, known at collection so that a skipped test's title can name them. */
export const has = {
  loopbackDiscovery: named()?.readsLoopback ?? true,
  issuerKey: named() === undefined || named()?.issuerKey !== null,
  auditToken: named() === undefined || named()?.auditToken !== null,
  identityToken: named() === undefined || named()?.identityToken !== null,
  enforcementToken: named() === undefined || named()?.enforcementToken !== null,
} as const;

export interface Opened {
  readonly api: Api;
  readonly deployment: Deployment;
  /** A name that no other run or test uses: several runs may share a deployment. */
  name(label: string): string;
  close(): Promise<void>;
}

/** The named deployment, else our own on a real PostgreSQL, and on a real Redis where the machine has one. */
export async function openDeployment(): Promise<Opened> {
  const given = named();
  const { deployment, stop } =
    given === undefined ? await startDeployment() : { deployment: given, stop: async () => {} };
  const run = crypto.randomUUID().slice(0, 8);
  let count = 0;
  return {
    api: createApi(deployment.url, bearersOf(deployment)),
    deployment,
    name: (label) => `${label}-${run}-${++count}`,
    close: stop,
  };
}

export async function startDeployment(): Promise<{ deployment: Deployment; stop(): Promise<void> }> {
  const [database, redis, issuerKey] = await Promise.all([
    createMigratedDatabase(),
    startRedisIfThere(),
    generatePrivateJwk(),
  ]);
  const controlPlane = await startControlPlane(
    { database, redis },
    { SVC_ISSUER_PRIVATE_KEY: JSON.stringify(issuerKey) },
  );
  return {
    deployment: {
      url: controlPlane.url,
      adminToken: testBearers.admin,
      auditToken: testBearers.audit,
      identityToken: testBearers.identity,
      enforcementToken: testBearers.enforcement,
      issuerKey,
      readsLoopback: true,
    },
    async stop() {
      await controlPlane.stop();
      await Promise.all([redis?.stop(), database.drop()]);
    },
  };
}

export const bearersOf = ({ adminToken, auditToken, identityToken, enforcementToken }: Deployment): Tokens => ({
  admin: adminToken,
  audit: auditToken ?? adminToken,
  identity: identityToken ?? auditToken ?? adminToken,
  enforcement: enforcementToken ?? "no-enforcement-token-of-this-deployment",
});
