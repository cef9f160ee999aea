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
