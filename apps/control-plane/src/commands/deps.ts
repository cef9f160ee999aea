import type { CamelCased } from "@svc/core";
import type { VerifyRemembering } from "@svc/tokens";
import type { z } from "zod";
import type { AuditReads } from "../ports/audit-reads.ts";
import type { Blocks } from "../ports/blocks.ts";
import type { Clock, Ids, Secrets } from "../ports/clock.ts";
import type { DecisionLog } from "../ports/decision-log.ts";
import type { DenialHold } from "../ports/denial-hold.ts";
import type { Enrollments } from "../ports/enrollments.ts";
import type { AgentKeys, Identities } from "../ports/identities.ts";
import type { IdentityProvider } from "../ports/identity-provider.ts";
import type { IssuerKeyStore, IssuerKeys, MakeKey } from "../ports/issuer-keys.ts";
import type { Discover, Manifests, Policies } from "../ports/manifests.ts";
import type { ReplayGuard } from "../ports/replay-guard.ts";
import type { RestoreWatch } from "../ports/restore-watch.ts";
import type { SessionStateReader, Sessions } from "../ports/sessions.ts";
import type { HopLedger, SpendLedger } from "../ports/spend-ledger.ts";
import type { TokenSigner } from "../ports/token-signer.ts";

/** A body, decoded. */
export type BodyOf<Schema extends z.ZodType> = CamelCased<z.output<Schema>>;

/** For the hop endpoints. */
export interface HopDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly issuer: string;
  readonly issuerKeys: IssuerKeys;
  readonly agentKeys: AgentKeys;
  /** Remembers checked signatures. It compares `iss`, `exp` and the issuer epoch at every use. */
  readonly verifyHopToken: VerifyRemembering<"hop">;
  readonly verifySibling: VerifyRemembering<"sibling">;
  readonly signer: TokenSigner;
  readonly sessionState: SessionStateReader;
  readonly policies: Policies;
  readonly decisionLog: DecisionLog;
  readonly spends: SpendLedger;
  readonly hops: HopLedger;
  readonly denialHold: DenialHold;
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
  readonly audit: AuditReads;
  readonly manifests: Manifests;
  readonly discover: Discover;
  readonly sessions: Sessions;
  /** Of a consent to this scope that names no lifetime. */
  readonly consentTtlSeconds: (scope: string) => number;
  readonly blocks: Blocks;
  readonly identities: Identities;
  readonly enrollments: Enrollments;
  /** Undefined if none is configured: then no agent can be bound to a person. */
  readonly identityProvider: IdentityProvider | undefined;
  readonly issuerKeyStore: IssuerKeyStore;
  /** Undefined if the settings give the one key: then none is made or removed. */
  readonly makeKey: MakeKey | undefined;
  /** Raising the issuer epoch acknowledges a restore. */
  readonly restoreWatch: Pick<RestoreWatch, "seen" | "lookAfresh">;
}
