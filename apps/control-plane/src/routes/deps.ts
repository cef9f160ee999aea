import type { SignInSettings } from "@svc/console";
import type { HopDeps } from "../commands/hop/hop-deps.ts";
import type { EnrollmentDeps } from "../commands/identity/begin-enrollment.ts";
import type { Probe } from "../commands/readiness.ts";
import type { Events } from "../events/events.ts";
import type { RouteAuth } from "../http/authentication.ts";
import type { AdministrativeEvents } from "../ports/administrative-event.ts";
import type { BlockChanges, Blocks } from "../ports/blocks.ts";
import type { DecisionCounts } from "../ports/decision-counts.ts";
import type { DecisionReads, WouldBlocks } from "../ports/decision-log.ts";
import type { Declarations } from "../ports/declarations.ts";
import type { Discover } from "../ports/discovery.ts";
import type { AgentRevocations } from "../ports/identities.ts";
import type { IssuerKeyStore, MakeKey } from "../ports/issuer-keys.ts";
import type { ManifestSubmissions, Manifests } from "../ports/manifests.ts";
import type { RestoreWatch } from "../ports/restore-watch.ts";
import type { SessionEnds } from "../ports/session-ends.ts";
import type { SessionStarts, Sessions } from "../ports/sessions.ts";

/** Everything that the routes use. */
export interface Deps extends HopDeps, EnrollmentDeps, RouteAuth {
  /** Signs cursors; the same in every process. */
  readonly cursorKey: Uint8Array;
  readonly decisions: DecisionReads;
  readonly manifestSubmissions: ManifestSubmissions;
  readonly manifests: Manifests;
  readonly sessionStarts: SessionStarts;
  readonly sessions: Sessions;
  readonly sessionEnds: SessionEnds;
  readonly blockChanges: BlockChanges;
  readonly blocks: Blocks;
  readonly agentRevocations: AgentRevocations;
  readonly issuerKeyStore: IssuerKeyStore;
  /** Undefined if the settings give the one key. */
  readonly makeKey: MakeKey | undefined;
  readonly administrativeEvents: AdministrativeEvents;
  readonly wouldBlocks: WouldBlocks;
  readonly decisionCounts: DecisionCounts;
  readonly declarations: Declarations;
  /** Sign-in of the console. */
  readonly console: SignInSettings;
  readonly discover: Discover;
  readonly consentTtlSeconds: number;
  readonly probes: readonly Probe[];
  /** Raising the issuer epoch acknowledges a restore. */
  readonly restoreWatch: Pick<RestoreWatch, "seen" | "lookAfresh">;
  /** When any process last finished retention; null before the first time. */
  readonly lastHousekeepingMs: () => number | null;
  /** The time of the oldest unsealed row; null if all are sealed. */
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
