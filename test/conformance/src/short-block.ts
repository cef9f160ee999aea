import { expect } from "vitest";

/** Sets a short block that a deny is seen under, and returns its end. */
export async function blockForAMoment(
  block: (until: string) => Promise<unknown>,
  isDenied: () => Promise<boolean>,
): Promise<string> {
  for (let lifeMs = 1_500; ; lifeMs *= 2) {
    const until = new Date(Date.now() + lifeMs).toISOString();
    await block(until);
    if (await isDenied()) return until;
    // On a busy machine it may have expired before the decision.
    expect(Date.now()).toBeGreaterThanOrEqual(Date.parse(until));
  }
}
