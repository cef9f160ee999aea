import type { VerifyRemembering } from "@svc/tokens";
import type { AgentKeys } from "../../ports/agent-keys.ts";
import type { Clock, Ids } from "../../ports/clock.ts";
import type { DecisionLog } from "../../ports/decision-log.ts";
import type { IssuerKeys } from "../../ports/issuer-keys.ts";
import type { Policies } from "../../ports/policies.ts";
import type { ReplayGuard } from "../../ports/replay-guard.ts";
import type { SessionStateReader } from "../../ports/session-state.ts";
import type { SpendLedger } from "../../ports/spend-ledger.ts";
import type { TokenSigner } from "./token-signer.ts";

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
