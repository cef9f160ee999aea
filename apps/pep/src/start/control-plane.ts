import { readFileSync } from "node:fs";
import { setTimeout as delay } from "node:timers/promises";
import {
  agentProver,
  createRenewalPool,
  type Deadlines,
  filePoolStore,
  type HopPorts,
  hopLines,
  hopsOffer,
  renewalSource,
  sharedDeadlines,
  type Transport,
  unreferenced,
} from "@svc/hop";
import { importAgentKey, type PushPorts } from "@svc/tokens";
import { fetch, Pool } from "undici";
import { breakingTransport } from "../decide/circuit-breaker.ts";
import { undiciTransport } from "../decide/undici-transport.ts";
import type { Config } from "./config.ts";

/** Connections to the control plane alone: an agent's upload never delays a decision. */
export function connectControlPlane(
  { controlPlane: { url, caFile }, limits }: Config,
  deadlines?: Deadlines,
): {
  transport: Transport;
  push: PushPorts;
  disconnect: () => Promise<void>;
} {
  const ca = caFile === undefined ? {} : { ca: readFileSync(caFile, "utf8") };
  const pool = new Pool(url.origin, { allowH2: false, pipelining: 1, connect: { ...ca, timeout: limits.stepMs } });
  return {
    transport: undiciTransport(pool, url, deadlines),
    push: {
      fetch: (address, request) => fetch(address, { ...request, dispatcher: pool }),
      random: Math.random,
      after: unreferenced,
    },
    disconnect: () => pool.destroy(),
  };
}

const lastRenewalMs = 1_000;

/** @throws {KeyRefused} if the agent's key cannot be used; an error that names the setting if a file or folder cannot */
export async function openControlPlane(config: Config) {
  const { limits, renewalIdleSeconds: idleSeconds } = config;
  const prover = await proverOf(config);
  const store = config.stateDir === undefined ? undefined : await stateFolder(config.stateDir);
  const monotonicMs = () => performance.now();
  const deadlines = sharedDeadlines(monotonicMs);
  const { transport, push, disconnect } = connectControlPlane(config, deadlines);
  const breaking = breakingTransport(transport, monotonicMs);
  const steps = { transport: breaking, monotonicMs, ...(prover && { prover }) };
  const lines = { offer: hopsOffer(breaking, monotonicMs), hops: hopLines(breaking, monotonicMs, deadlines) };
  const pool = createRenewalPool({ source: renewalSource(steps), idleSeconds, ...(store && { store }) });
  const hop: HopPorts = { steps, lines, pool, limits, ...(prover && { assertIdentity: prover.assertIdentity }) };
  return {
    hop,
    push,
    async close() {
      const closed = pool.close();
      // A renewal under way may still bring tokens to store; it gets a bounded time.
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
    const { code } = cause as NodeJS.ErrnoException;
    throw new Error(`SVC_PEP_STATE_DIR must name a folder that can be written to (${code})`, { cause });
  }
}

async function proverOf({ agent }: Config) {
  if (!agent) return undefined;
  return agentProver({ agentName: agent.name, key: await importAgentKey(readFileSync(agent.keyFile, "utf8")) });
}
