import type { HopClaims, VerifyRemembering } from "@svc/tokens";
import type { AgentKeys } from "../../ports/agent-keys.ts";
import type { Clock, Ids } from "../../ports/clock.ts";
import type { DecisionLog } from "../../ports/decision-log.ts";
import type { IssuerKeys } from "../../ports/issuer-keys.ts";
import type { Policies } from "../../ports/policies.ts";
import type { PresentReader } from "../../ports/present.ts";
import type { ReplayGuard } from "../../ports/replay-guard.ts";
import type { SpendLedger } from "../../ports/spend-ledger.ts";

/** What the hop endpoints stand on. */
export interface HopDeps {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly issuer: string;
  readonly issuerKeys: IssuerKeys;
  readonly agentKeys: AgentKeys;
  /** Remembers signatures that it checked: `iss`, `exp` and the epoch are compared at every use. */
  readonly verifyHopToken: VerifyRemembering<"hop">;
  /** Signs with the key that signs now. */
  readonly issueHopToken: (claims: HopClaims) => Promise<string>;
  readonly present: PresentReader;
  readonly policies: Policies;
  readonly decisions: DecisionLog;
  readonly spends: SpendLedger;
  readonly guard: ReplayGuard;
  readonly hopSettings: HopSettings;
  /** Throws while nothing may be granted, because the database is older than one that was served before. */
  readonly requireAcknowledged: () => void;
}

export interface HopSettings {
  readonly identityRequired: boolean;
  /** Whether observe mode is admitted for a scope. */
  readonly mayObserve: (scope: string) => boolean;
}
