import type { Scenario } from "../stand.ts";

/** Forty agents at once on the fewest connections that a process may have. */
export const crowd: Scenario = {
  name: "a crowd, on ten connections a process",
  agents: 40,
  async inject({ load }) {
    await load.passes(120);
    return 40;
  },
};
