import { type Deployment, startUsualDeployment } from "../deployment.ts";
import { type FakedTime, fakedTime } from "../faked-time.ts";
import type { Scenario } from "../stand.ts";

const hourSeconds = 3_600;
let clock: FakedTime | undefined;

/** Steps the clocks of the service's processes together; the stores' clocks are unaffected. */
export function startDeploymentWithClock(): Promise<Deployment> {
  clock = fakedTime();
  return startUsualDeployment({ env: clock.env });
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
