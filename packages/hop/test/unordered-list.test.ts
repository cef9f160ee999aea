import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { promotedBytes } from "@svc/test-support";
import fc from "fast-check";
import { expect, test } from "vitest";
import { unorderedList } from "../src/index.ts";

test("has the members that joined and did not leave, each of which leaves once", () => {
  fc.assert(
    fc.property(fc.array(fc.option(fc.nat(), { freq: 2 })), (acts) => {
      const list = unorderedList<number>();
      const model = new Set<number>();
      const leaves: (() => boolean)[] = [];
      for (const [step, act] of acts.entries()) {
        const chosen = act === null || leaves.length === 0 ? undefined : act % leaves.length;
        if (chosen === undefined) {
          const member = leaves.length;
          leaves.push(list.add(member));
          model.add(member);
        } else {
          expect([step, leaves[chosen]?.()]).toEqual([step, model.delete(chosen)]);
        }
        expect([step, list.size(), new Set(list.members())]).toEqual([step, model.size, model]);
      }
    }),
  );
});

test("keeps no member that left, also after a major collection", async () => {
  setFlagsFromString("--expose-gc");
  const collect: () => void = runInNewContext("gc");
  const list = unorderedList<object>();
  const leaves: (() => boolean)[] = [];
  const promoted = await promotedBytes(() => {
    for (let joined = 0; joined < 120_000; joined += 1) {
      leaves.push(list.add(new Array(500).fill(joined)));
      if (leaves.length > 32) leaves.shift()?.();
      if (joined === 30_000) collect();
    }
  });
  // Of 480 MB. Of a set it is most.
  expect(promoted).toBeLessThan(10_000_000);
});
