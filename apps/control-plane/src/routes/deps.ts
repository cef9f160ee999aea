import type { SignInSettings } from "@svc/console";
import type { RestoreWatch } from "../background/watch-restore.ts";
import type { HopDeps } from "../commands/hop/hop-deps.ts";
import type { EnrollmentDeps } from "../commands/identity/begin-enrollment.ts";
import type { Probe } from "../commands/readiness.ts";
import type { Events } from "../events/events.ts";
import type { RouteAuth } from "../http/authentication.ts";
import type { AdministrativeEvents } from "../ports/administrative-event.ts";
import type { Blocks } from "../ports/blocks.ts";
import type { DecisionCounts } from "../ports/decision-counts.ts";
import type { DecisionReads, WouldBlocks } from "../ports/decision-log.ts";
import type { Declarations } from "../ports/declarations.ts";
import type { Discover } from "../ports/discovery.ts";
import type { IssuerKeyStore, MakeKey } from "../ports/issuer-keys.ts";
import type { Manifests } from "../ports/manifests.ts";
import type { SessionEnds } from "../ports/session-ends.ts";
import type { SessionFacts } from "../ports/session-state.ts";
import type { Sessions } from "../ports/sessions.ts";

/** What the routes stand on: the hop endpoints' ports and those of planes, manifests, consent, identity and reads. */
export interface Deps extends HopDeps, EnrollmentDeps, RouteAuth {
  /** Signs cursors; the same in every process. */
  readonly cursorKey: Uint8Array;
  readonly decisions: DecisionReads;
  readonly manifests: Manifests;
  readonly sessions: Sessions;
  readonly sessionEnds: SessionEnds;
  readonly blocks: Blocks;
  readonly issuerKeyStore: IssuerKeyStore;
  /** Undefined where the settings give the one key. */
  readonly makeKey: MakeKey | undefined;
  readonly administrativeEvents: AdministrativeEvents;
  readonly wouldBlocks: WouldBlocks;
  readonly decisionCounts: DecisionCounts;
  readonly declarations: Declarations;
  /** Who may sign in to the console, and how that is remembered. */
  readonly console: SignInSettings;
  readonly discover: Discover;
  readonly consentTtlSeconds: number;
  /** Signs the hop-1 token of a session that was committed under this denial epoch. */
  readonly issueRootGrant: (session: SessionFacts, denialEpoch: string) => Promise<string>;
  readonly probes: readonly Probe[];
  /** What raising the issuer's epoch acknowledges, and whether it did. */
  readonly restoreWatch: Pick<RestoreWatch, "seen" | "lookAfresh">;
  /** When housekeeping was last done by any process; null before the first time. */
  readonly lastHousekeepingMs: () => number | null;
  /** The time of the oldest row of the record that is not sealed; null where all are. */
  readonly oldestUnsealedMs: () => number | null;
  readonly renderMetrics: () => Promise<Rendered>;
  readonly events: Events;
  /** Of the running build. */
  readonly version: string;
}

export interface Rendered {
  readonly contentType: string;
  readonly body: string;
}
