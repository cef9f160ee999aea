import type { Scenario } from "../stand.ts";

/** Forty agents in parallel on the smallest connection pool of a process. */
export const crowd: Scenario = {
  name: "forty agents on ten connections a process",
  agents: 40,
  async inject({ load }) {
    await load.passes(120);
    return 40;
  },
};
