import type { Api } from "@svc/test-conformance/api";
import { requires, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect, test } from "vitest";
import { startCalling } from "./src/calling.ts";
import { nodeSuite } from "./src/node-suite.ts";
import { type Nodes, type SeparateNodes, scope, startInNamespaces, startOnRedisCluster } from "./src/nodes.ts";

/** Every action whose allow was spent, page by page. */
async function spentActions(api: Api): Promise<ReadonlySet<string>> {
  const spent = new Set<string>();
  for (let cursor: string | null = ""; cursor !== null; ) {
    const { body } = await api.decisions(`outcome=allow&limit=200${cursor && `&cursor=${cursor}`}`);
    for (const { action_id: action, spent_at: at } of body.data) if (at !== null) spent.add(action);
    cursor = body.page.next_cursor;
  }
  return spent;
}

requires("redis-server").describe("two nodes on a Redis Cluster of six", () => {
  let nodes: Nodes;
  beforeAll(async () => {
    nodes = await startOnRedisCluster();
  });
  afterAll(() => nodes?.stop());

  nodeSuite(() => nodes);
});

requires("redis-server", "ip", "network namespaces").describe(
  "two nodes in network namespaces of their own, behind a load balancer",
  () => {
    let nodes: SeparateNodes;
    beforeAll(async () => {
      nodes = await startInNamespaces();
    });
    afterAll(() => nodes?.stop());

    nodeSuite(() => nodes);

    test("when one is cut off, the other serves its callers, and no confirmed record is lost", async () => {
      const { balanced, one, otherNode } = nodes;
      const calling = startCalling(balanced, scope, 4);
      const more = (count: number) => {
        const before = calling.sessions();
        return waitUntil(`${count} more sessions`, () => calling.sessions() >= before + count);
      };
      await more(10);
      await otherNode.cut();
      await waitUntil("the balancer to notice", () => !otherNode.isServing());
      await more(10);
      await otherNode.mend();
      await waitUntil("the node to serve again", otherNode.isServing);
      await more(10);
      const { exchanged } = await calling.stop();
      const spent = await spentActions(one);
      for (const action of exchanged) {
        expect([action, spent.has(action), (await one.chain(action)).body.complete]).toEqual([action, true, true]);
      }
    });
  },
);
