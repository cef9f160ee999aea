import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Stand } from "@svc/test-conformance/stand";
import { type EnforcementPoint, freePort, startEnforcementPoint } from "@svc/test-support";
import { routes } from "./guarded.ts";

/** An enforcement point with a state folder, killed and started again at one address. */
export interface Restartable {
  readonly url: string;
  readonly stateDir: string;
  /** SIGKILL; resolves when it has exited. */
  kill(): Promise<void>;
  start(): Promise<void>;
  stop(): Promise<void>;
}

/** @param prepare changes the state folder before the first start */
export async function startRestartable(stand: Stand, prepare?: (stateDir: string) => void): Promise<Restartable> {
  const folder = mkdtempSync(join(tmpdir(), "svc-restart-"));
  const stateDir = join(folder, "state");
  const configFile = join(folder, "pep.json");
  writeFileSync(configFile, JSON.stringify({ upstreams: [{ name: "app", url: stand.upstream.url, routes }] }));
  prepare?.(stateDir);
  const listen = `127.0.0.1:${await freePort()}`;
  const settings = { SVC_PEP_LISTEN: listen, SVC_PEP_STATE_DIR: stateDir, SVC_PEP_GRACE_SECONDS: "0" };
  const start = () => startEnforcementPoint(stand.api.url, configFile, settings);
  let running: EnforcementPoint = await start();
  return {
    url: `http://${listen}`,
    stateDir,
    async kill() {
      running.kill("SIGKILL");
      await running.exited;
    },
    async start() {
      running = await start();
    },
    async stop() {
      await running.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}
