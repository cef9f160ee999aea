import { mkdtempSync, rmSync } from "node:fs";
import { writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  type ControlPlane,
  type EnforcementPoint,
  ownBudgets,
  startControlPlane,
  startEnforcementPoint,
  type TestDatabase,
} from "@svc/test-support";
import { generatePrivateJwk, importIssuerKey, type SigningKey } from "@svc/tokens";
import type { Stores } from "./stores.ts";

/** Control plane and enforcement point as in production: their own database, Redis, defaults throughout. */
export interface Stack {
  readonly controlPlane: ControlPlane;
  readonly pep: EnforcementPoint;
  readonly database: TestDatabase;
  /** The control plane's signing key, so that single-use tokens can be made beforehand. */
  readonly key: SigningKey;
  stop(): Promise<void>;
}

export interface StackOptions {
  readonly stores: Stores;
  /** Upstream of calls to `/bench/...`. */
  readonly upstream: string;
  /** In place of the file with that upstream. */
  readonly upstreams?: object;
  readonly env?: Readonly<Record<string, string>>;
  /** Called with a folder for files. */
  readonly pepEnv?: (folder: string) => Readonly<Record<string, string>>;
  readonly controlPlaneEnv?: Readonly<Record<string, string>>;
}

export const readTool = { ref: "http:bench/read", data_classes: ["bench"] };
export const writeTool = { ref: "http:bench/write", data_classes: ["bench"], access: "write", privileged: true };

export async function startStack({
  stores,
  upstream,
  upstreams = upstreamsOf(upstream),
  env,
  pepEnv,
  controlPlaneEnv,
}: StackOptions): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), "svc-bench-"));
  const configFile = join(folder, "upstreams.json");
  await writeFile(configFile, JSON.stringify(upstreams));
  const jwk = await generatePrivateJwk();
  const database = await stores.database();
  const controlPlane = await startControlPlane(
    { database, redis: stores.redis },
    {
      SVC_ISSUER_PRIVATE_KEY: JSON.stringify(jwk),
      SVC_CONSENT_TTL_SECONDS: "86400",
      ...ownBudgets,
      ...env,
      ...controlPlaneEnv,
    },
  );
  const pep = await startEnforcementPoint(controlPlane.url, configFile, { ...ownBudgets, ...env, ...pepEnv?.(folder) });
  return {
    controlPlane,
    pep,
    database,
    key: await importIssuerKey(jwk),
    async stop() {
      pep.kill();
      await Promise.all([pep.exited, controlPlane.stop()]);
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

const upstreamsOf = (url: string) => {
  const route = (method: string, path: string, { ref, data_classes }: { ref: string; data_classes: string[] }) => ({
    methods: [method],
    path,
    target: ref,
    data_class: data_classes[0],
  });
  return {
    upstreams: [
      {
        name: "bench",
        url,
        routes: [
          route("GET", "/read", readTool),
          route("GET", "/bytes/:count", readTool),
          route("POST", "/read", readTool),
          route("POST", "/write", writeTool),
        ],
      },
    ],
  };
};
