import type { VerifyRemembering } from "@svc/tokens";
import type { AgentKeys } from "../ports/agent-keys.ts";
import type { BlockChanges } from "../ports/blocks.ts";
import type { Clock, Ids, Secrets } from "../ports/clock.ts";
import type { DecisionLog, DecisionReads } from "../ports/decision-log.ts";
import type { Discover } from "../ports/discovery.ts";
import type { Enrollments } from "../ports/enrollments.ts";
import type { AgentRevocations, Identities } from "../ports/identities.ts";
import type { IdentityProvider } from "../ports/identity-provider.ts";
import type { IssuerKeyStore, IssuerKeys, MakeKey } from "../ports/issuer-keys.ts";
import type { ManifestSubmissions, Manifests } from "../ports/manifests.ts";
import type { Policies } from "../ports/policies.ts";
import type { ReplayGuard } from "../ports/replay-guard.ts";
import type { RestoreWatch } from "../ports/restore-watch.ts";
import type { SessionEnds } from "../ports/session-ends.ts";
import type { SessionStateReader } from "../ports/session-state.ts";
import type { SessionStarts, Sessions } from "../ports/sessions.ts";
import type { SpendLedger } from "../ports/spend-ledger.ts";
import type { TokenSigner } from "../ports/token-signer.ts";

/** For the hop endpoints. */
export interface HopDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly issuer: string;
  readonly issuerKeys: IssuerKeys;
  readonly agentKeys: AgentKeys;
  /** Remembers checked signatures. It compares `iss`, `exp` and the issuer epoch at every use. */
  readonly verifyHopToken: VerifyRemembering<"hop">;
  readonly signer: TokenSigner;
  readonly sessionState: SessionStateReader;
  readonly policies: Policies;
  readonly decisionLog: DecisionLog;
  readonly spends: SpendLedger;
  readonly guard: ReplayGuard;
  readonly hopSettings: HopSettings;
  /** Throws while the database is older than one that this deployment served before: then nothing is granted. */
  readonly requireAcknowledged: () => void;
}

export interface HopSettings {
  readonly identityRequired: boolean;
  readonly mayObserve: (scope: string) => boolean;
}

/** Everything that commands use. Each command names its part. */
export interface CommandDeps extends HopDeps {
  readonly secrets: Secrets;
  readonly decisions: DecisionReads;
  readonly manifests: Manifests;
  readonly manifestSubmissions: ManifestSubmissions;
  readonly discover: Discover;
  readonly sessions: Sessions;
  readonly sessionStarts: SessionStarts;
  readonly sessionEnds: SessionEnds;
  /** For a consent that names no lifetime. */
  readonly consentTtlSeconds: number;
  readonly blockChanges: BlockChanges;
  readonly identities: Identities;
  readonly agentRevocations: AgentRevocations;
  readonly enrollments: Enrollments;
  /** Undefined if none is configured: then no agent can be bound to a person. */
  readonly identityProvider: IdentityProvider | undefined;
  readonly issuerKeyStore: IssuerKeyStore;
  /** Undefined if the settings give the one key: then none is made or removed. */
  readonly makeKey: MakeKey | undefined;
  /** Raising the issuer epoch acknowledges a restore. */
  readonly restoreWatch: Pick<RestoreWatch, "seen" | "lookAfresh">;
}
