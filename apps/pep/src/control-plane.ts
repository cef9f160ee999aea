import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import {
  agentProver,
  createRenewalPool,
  filePoolStore,
  type RenewalPool,
  renewalSource,
  type StepPorts,
  type Transport,
} from "@svc/hop";
import { importAgentKey } from "@svc/tokens";
import { Pool } from "undici";
import { breakingTransport } from "./decide/circuit-breaker.ts";
import type { Config } from "./start/config.ts";
import { undiciTransport } from "./transport.ts";

/** A keep-alive pool to the control plane alone, so that no upload of an agent's stands before a decision. */
export function connectControlPlane({ controlPlane: { url, caFile }, limits }: Config): {
  transport: Transport;
  disconnect: () => Promise<void>;
} {
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") };
  const pool = new Pool(url.origin, { allowH2: false, pipelining: 1, connect: { ...ca, timeout: limits.stepMs } });
  return { transport: undiciTransport(pool, url), disconnect: () => pool.destroy() };
}

/** All that hops are made with: the steps over one transport, the renewed tokens, the agent's key. */
export interface HopMachinery {
  readonly transport: Transport;
  readonly steps: StepPorts;
  readonly pool: RenewalPool;
  /** Present where an agent key is held. */
  readonly assertIdentity?: (accessToken: string, target: string) => Promise<string>;
  close(): Promise<void>;
}

const lastRenewalMs = 1_000;

/** @throws {KeyRefused} where the agent's key cannot be used; an error that says so where a file or folder cannot */
export async function createHopMachinery(config: Config): Promise<HopMachinery> {
  const prover = await proverOf(config);
  const store = config.stateDir === undefined ? undefined : await stateFolder(config.stateDir);
  const monotonicMs = () => performance.now();
  const { transport: plain, disconnect } = connectControlPlane(config);
  const transport = breakingTransport(plain, monotonicMs);
  const steps = { transport, monotonicMs, ...(prover && { prover }) };
  const { renewalIdleSeconds: idleSeconds } = config;
  const pool = createRenewalPool({ source: renewalSource(steps), idleSeconds, ...(store && { store }) });
  return {
    transport,
    steps,
    pool,
    ...(prover && { assertIdentity: prover.assertIdentity }),
    async close() {
      const closed = pool.close();
      // A renewal under way may still bring tokens to keep, but not at the price of being killed.
      await Promise.race([closed, delay(lastRenewalMs, undefined, { ref: false })]);
      await disconnect();
      await closed;
    },
  };
}

async function stateFolder(directory: string) {
  try {
    return await filePoolStore(directory);
  } catch (cause) {
    throw new Error(`SVC_PEP_STATE_DIR names no folder that can be written to (${codeOf(cause)})`, { cause });
  }
}

const codeOf = (error: unknown): unknown => (error as NodeJS.ErrnoException).code;

async function proverOf({ agent }: Config) {
  if (!agent) return undefined;
  return agentProver({ agentName: agent.name, key: await importAgentKey(readFileSync(agent.keyFile, "utf8")) });
}
