import type { SignInSettings } from "@svc/console";
import type { Push } from "../background/push-events.ts";
import type { Probes } from "../commands/readiness.ts";
import type { ConsentDeps } from "../people/consent-deps.ts";
import type { ReceivedSets, SecurityEvents } from "../ports/security-events.ts";
import type { SignalStreams } from "../ports/signal-streams.ts";
import type { Sinks } from "../ports/sinks.ts";

/** Everything that routes use. */
export interface Deps extends ConsentDeps {
  /** Sign-in of the console. */
  readonly console: SignInSettings;
  /** With `{action_id}`. */
  readonly traceUrl: string | undefined;
  readonly probes: Probes;
  readonly push: Push;
  /** Undefined where the settings expect none. */
  readonly securityEvents: SecurityEvents | undefined;
  readonly receivedSets: ReceivedSets;
  readonly signalStreams: SignalStreams;
  /** Seals what receivers of our events are authenticated with; the same in every process. */
  readonly receiverKey: Uint8Array;
  readonly sinks: Sinks;
  /** When any process last finished retention; null before the first time. */
  readonly lastHousekeepingMs: () => number | null;
  /** The time of the oldest unsealed row; null if all are sealed. */
  readonly oldestUnsealedMs: () => number | null;
  readonly renderMetrics: () => Promise<{ readonly contentType: string; readonly body: string }>;
}
