import { createDatabase, startControlPlane, startRedisIfThere, testBearers } from "@svc/test-support";
import { generatePrivateJwk, type PrivateJwk } from "@svc/tokens";
import { type Api, createApi, type Tokens } from "./api.ts";

/** A control plane that is compared with the reference. */
export interface Deployment {
  readonly url: string;
  readonly adminToken: string;
  /** Null where it is not known: the admin token reads in its place. */
  readonly auditToken: string | null;
  readonly identityToken: string | null;
  /** Null where it is not known, which it is of no deployment but our own. */
  readonly issuerKey: PrivateJwk | null;
  /** Whether an agent's capabilities may be read from this machine's loopback addresses. */
  readonly readsLoopback: boolean;
}

/** How the runner tells the processes of the tests which deployment is meant: environment variables are all they share. */
export const deploymentVariable = "CONFORMANCE_DEPLOYMENT";

const named = (): Deployment | undefined => {
  const text = process.env[deploymentVariable];
  return text === undefined ? undefined : JSON.parse(text);
};

/** What a test may need beyond the interface; known before any test runs, so that titles can say what was missing. */
export const has = {
  loopbackDiscovery: named()?.readsLoopback ?? true,
  issuerKey: named() === undefined || named()?.issuerKey !== null,
  auditToken: named() === undefined || named()?.auditToken !== null,
  identityToken: named() === undefined || named()?.identityToken !== null,
} as const;

export interface Opened {
  readonly api: Api;
  readonly deployment: Deployment;
  /** A name that no other run and no other test uses: many runs may ask one deployment. */
  name(label: string): string;
  close(): Promise<void>;
}

/** The deployment that was named, else one of our own on a real PostgreSQL and a real Redis, where the machine has one. */
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
  const [database, redis, issuerKey] = await Promise.all([createDatabase(), startRedisIfThere(), generatePrivateJwk()]);
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
      issuerKey,
      readsLoopback: true,
    },
    async stop() {
      await controlPlane.stop();
      await Promise.all([redis?.stop(), database.drop()]);
    },
  };
}

export const bearersOf = ({ adminToken, auditToken, identityToken }: Deployment): Tokens => ({
  admin: adminToken,
  audit: auditToken ?? adminToken,
  identity: identityToken ?? auditToken ?? adminToken,
});
