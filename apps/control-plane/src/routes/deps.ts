import type { SignInSettings } from "@svc/console";
import type { CommandDeps } from "../commands/deps.ts";
import type { Probes } from "../commands/readiness.ts";
import type { Events } from "../events/events.ts";
import type { RoutesDeps } from "../http/routes.ts";
import type { AdministrativeEvents } from "../ports/administrative-event.ts";
import type { Blocks } from "../ports/blocks.ts";
import type { DecisionCounts } from "../ports/decision-counts.ts";
import type { WouldBlocks } from "../ports/decision-log.ts";
import type { Declarations } from "../ports/declarations.ts";

/** Everything that routes use. */
export interface Deps extends CommandDeps, RoutesDeps {
  readonly blocks: Blocks;
  readonly administrativeEvents: AdministrativeEvents;
  readonly wouldBlocks: WouldBlocks;
  readonly decisionCounts: DecisionCounts;
  readonly declarations: Declarations;
  /** Sign-in of the console. */
  readonly console: SignInSettings;
  readonly probes: Probes;
  /** When any process last finished retention; null before the first time. */
  readonly lastHousekeepingMs: () => number | null;
  /** The time of the oldest unsealed row; null if all are sealed. */
  readonly oldestUnsealedMs: () => number | null;
  readonly renderMetrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
  readonly events: Events;
  /** Of the running build. */
  readonly version: string;
}
