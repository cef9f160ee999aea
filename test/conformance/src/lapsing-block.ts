import { expect } from "vitest";

/** Blocks for a moment that is long enough to see the deny, and returns when the block ends. */
export async function blockForAMoment(
  block: (until: string) => Promise<unknown>,
  isDenied: () => Promise<boolean>,
): Promise<string> {
  for (let lifeMs = 1_500; ; lifeMs *= 2) {
    const until = new Date(Date.now() + lifeMs).toISOString();
    await block(until);
    if (await isDenied()) return until;
    // On a busy machine it may have lapsed before the decision.
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until));
  }
}
