import { loaded } from "../measure/loaded.ts";
import type { Subject } from "../measure/trial.ts";
import { put, remove, untilAvailable } from "../rig/admin.ts";
import type { Credential } from "../rig/agents.ts";
import type { Bench } from "../rig/bench.ts";
import { liveAgents } from "../rig/live-agents.ts";
import { startProvenStack } from "../rig/proof-stack.ts";
import type { HopRig } from "./hop-rig.ts";
import { hopHeaders, processesOf, throughPep } from "./hop-targets.ts";

export const kindsTrial = "by kind of hop";
const connections = 8;

/** Other kinds of hops: with a bound body, with proofs of possession, during a stream of new denials. */
export async function byKind(bench: Bench, rig: HopRig): Promise<void> {
  const { stack, line } = rig;
  const agents = await liveAgents(stack, line, 1, connections);
  const shared = { connections, seconds: bench.pace.seconds };
  const processes = processesOf(stack, bench.stores);
  const plain = loaded({ ...shared, name: "plain", processes, target: () => throughPep(stack, agents) });
  const privileged = loaded({
    ...shared,
    name: "privileged",
    processes,
    async target() {
      const credentials = await agents.current();
      return { origin: stack.pep.url, call: (connection) => writing(credentials[connection]) };
    },
  });
  const unsettled = duringBlocks(
    stack.controlPlane.url,
    loaded({ ...shared, name: "while blocks change", processes, target: () => throughPep(stack, agents) }),
  );
  const proven = bench.use(await startProvenStack(bench));
  const withProofs = loaded({
    ...shared,
    name: "with actor proofs",
    processes: processesOf(proven, bench.stores),
    target: () => throughPep(proven, proven.agents),
  });
  await bench.trial(kindsTrial, [plain, privileged, unsettled, withProofs]);
}

const params = JSON.stringify({ amount: "12.50", currency: "EUR", note: "x".repeat(900) });

const writing = (credential: Credential | undefined) => ({
  method: "POST" as const,
  path: "/bench/write",
  headers: { ...hopHeaders(credential), "content-type": "application/json" },
  body: params,
});

/** Every change replaces the denial epoch, so that every decision in progress is repeated. */
const duringBlocks = (controlPlaneUrl: string, subject: Subject): Subject => ({
  name: subject.name,
  async sample() {
    let isOver = false;
    const change = async () => {
      for (let number = 0; !isOver; number++) {
        const block = `${controlPlaneUrl}/v1/blocks/tool/${encodeURIComponent(`http:bench/other${number % 10}`)}`;
        await untilAvailable(() => put(block, { reason: "a benchmark" }));
        await remove(block);
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
    };
    const changing = change();
    // A failure is reported where the promise is awaited.
    changing.catch(() => {});
    try {
      return await subject.sample();
    } finally {
      isOver = true;
      await changing;
    }
  },
});
