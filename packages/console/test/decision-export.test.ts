import { expect, test } from "vitest";
import type { Listed } from "../src/ports.ts";
import { fakeReads, visitor } from "./fake-ports.ts";

test("an export that has more rows than it may says so in its last line", async () => {
  const row = { record: { decidedAtMs: 0, actionId: "a" }, spentAtMs: null, paramsHash: null } as never;
  const page: Listed<never> = { rows: Array.from({ length: 1_000 }, () => row), next: undefined, nextCursor: "more" };
  const { look } = visitor({ reads: { ...fakeReads(), decisions: async () => page } });
  for (const [extension, head] of [
    ["csv", 1],
    ["jsonl", 0],
  ] as const) {
    const lines = (await look(`/console/decisions.${extension}`)).text.trimEnd().split("\n");
    expect(lines).toHaveLength(head + 50_000 + 1);
    expect(lines.at(-1)).toContain("Cut after 50000 rows");
  }
});
