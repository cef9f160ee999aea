import type { Scenario } from "../stand.ts";

/** A hundred and fifty agents at once on the fewest connections that a process may have. */
export const crowd: Scenario = {
  name: "a crowd, on ten connections a process",
  agents: 150,
  async inject({ load }) {
    await load.passes(600);
    return 150;
  },
};
