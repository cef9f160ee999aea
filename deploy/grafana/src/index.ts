import { controlPlane } from "./control-plane.ts";
import { toGrafana } from "./dashboard.ts";
import { drift } from "./drift.ts";
import { fleet } from "./fleet.ts";
import { rollout } from "./rollout.ts";
import { spansDashboard } from "./spans.ts";

const dashboards = [fleet, rollout, controlPlane, spansDashboard, drift];

/** The shipped dashboards: file name to content. */
export const files = (): ReadonlyMap<string, string> =>
  new Map(
    dashboards.map((dashboard) => [
      `${dashboard.uid}.json`,
      `${JSON.stringify(toGrafana(dashboard, dashboards), null, 2)}\n`,
    ]),
  );
