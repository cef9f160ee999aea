import { type FakedTime, fakedTime } from "../faked-time.ts";
import type { Scenario } from "../stand.ts";
import { startUsualWorld, type World } from "../world.ts";

const hourSeconds = 3_600;
let clock: FakedTime | undefined;

/** The clocks of the service's processes are stepped together; the servers' own go on. */
export function startWorldWithClock(): Promise<World> {
  clock = fakedTime();
  return startUsualWorld({ env: clock.env });
}

const stepped = (name: string, seconds: readonly number[]): Scenario => ({
  name,
  async inject({ load }) {
    for (const second of seconds) {
      await load.passes(10);
      clock?.step(second);
      await load.passes(30);
    }
    return seconds.length;
  },
});

export const clockSteps: readonly Scenario[] = [
  stepped("the clock set forward by an hour", [hourSeconds]),
  stepped("the clock set back by an hour, and by another", [0, -hourSeconds]),
];
