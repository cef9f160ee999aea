import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { setTimeout as delay } from "node:timers/promises";
import { request } from "undici";
import { parse, stringify } from "yaml";
import { callTool, withMcpClient } from "../mcp.ts";
import { controlPlane, heldBy, type Scene } from "../scene.ts";
import type { Step } from "../teller.ts";

export const observeStep: Step<Scene> = {
  title: "In observe mode nothing is blocked, and everything is known",
  async run(scene, tell) {
    await observe(scene, "everything");
    tell.asked("mcp:everything/get-tiny-image, undeclared, with the upstream switched to observe");
    await withMcpClient(scene, "everything", (client) => callTool(client, "get-tiny-image"));
    const query = new URLSearchParams({
      session_id: heldBy(scene, "consent").session_id,
      enforced: "false",
      outcome: "deny",
    });
    const { status, body } = await controlPlane<{ data: { target: string; deny_reason: string; enforced: boolean }[] }>(
      scene,
      `/v1/audit/decisions?${query}`,
      { bearer: scene.stack.bearers.audit },
    );
    assert.equal(status, 200, JSON.stringify(body));
    const [row] = body.data;
    assert.deepEqual([row?.target, row?.deny_reason], ["mcp:everything/get-tiny-image", "TARGET_NOT_DECLARED"]);
    tell.decided(`forwarded, and recorded as ${row?.deny_reason} with enforced=false`);
    tell.why("the list of what would have been blocked is what to declare before enforcing");
  },
};

/** Edits the watched file, as an operator would, and waits until the enforcement point has taken it. */
async function observe({ stack }: Scene, upstream: string): Promise<void> {
  const config: { upstreams: { name: string; mode?: string }[] } = parse(await readFile(stack.pepConfig, "utf8"));
  for (const entry of config.upstreams) if (entry.name === upstream) entry.mode = "observe";
  await writeFile(stack.pepConfig, stringify(config));
  const endMs = performance.now() + 10_000;
  while (!(await isObserving(stack.pepAdmin))) {
    assert(performance.now() < endMs, "the enforcement point did not take the changed file");
    await delay(50);
  }
}

async function isObserving(pepAdmin: string): Promise<boolean> {
  const { body } = await request(`${pepAdmin}/__svc/metrics`);
  return /^svc_pep_info\{[^}]*mode="observing"/m.test(await body.text());
}
