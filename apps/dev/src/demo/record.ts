import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { parse, stringify } from "yaml";
import { callTool, obtained, type Scene, type Step, withMcpClient } from "./scene.ts";

export const record: readonly Step[] = [
  {
    title: "Observe mode blocks nothing and records everything",
    async run(scene, report) {
      await observe(scene, "everything");
      report.asked("mcp:everything/get-tiny-image, undeclared, with the upstream in observe mode");
      await withMcpClient(scene, "everything", (client) => callTool(client, "get-tiny-image"));
      const { sessionId } = obtained(scene, "session");
      const { data } = await scene.client.audit.decisions({ sessionId, enforced: false, outcome: "deny" });
      const [row] = data;
      assert.deepEqual([row?.target, row?.denyReason], ["mcp:everything/get-tiny-image", "TARGET_NOT_DECLARED"]);
      report.decided(`forwarded, and recorded as ${row?.denyReason} with enforced=false`);
      report.why("these records list what to declare before enforcing");
    },
  },
  {
    title: "The chain of the privileged call leads back to alice",
    async run(scene, report) {
      const action = obtained(scene, "posted");
      report.asked(`the chain of action ${action}`);
      const { root, hops, complete } = await scene.client.audit.chain(action);
      assert.equal(complete, true);
      assert.equal(root.userSub, "alice");
      assert.deepEqual(
        hops.map(({ actingAgent, target }) => [actingAgent, target]),
        [
          ["alice", "planner"],
          ["planner", "http:ledger/post_entry"],
        ],
      );
      for (const { hop, actingAgent, target, decision } of hops) {
        report.decided(`hop ${hop}: ${actingAgent} -> ${target} (${decision})`);
      }
      report.why(`complete: it starts with the consent of ${root.userSub} to "${root.scope}" at ${root.consentedAt}`);
    },
  },
];

/** Edits the watched file, as an operator would, and waits until the enforcement point applies it. */
async function observe({ stack }: Scene, upstream: string): Promise<void> {
  const config: { upstreams: { name: string; mode?: string }[] } = parse(await readFile(stack.pepConfig, "utf8"));
  for (const entry of config.upstreams) if (entry.name === upstream) entry.mode = "observe";
  await writeFile(stack.pepConfig, stringify(config));
  const endMs = performance.now() + 10_000;
  while (!(await isObserving(stack.pepAdmin))) {
    assert(performance.now() < endMs, "the enforcement point did not apply the changed file");
    await delay(50);
  }
}

async function isObserving(pepAdmin: string): Promise<boolean> {
  const metrics = await (await fetch(`${pepAdmin}/__svc/metrics`)).text();
  return /^svc_pep_info\{[^}]*mode="observing"/m.test(metrics);
}
