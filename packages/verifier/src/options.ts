import type { RequestHeaders } from "./credentials.ts";
import { defaultRefreshSeconds, type IdentityViewOptions } from "./identity-view.ts";
import type { VerifierPorts } from "./ports.ts";
import type { ReplayStore } from "./replay-store.ts";
import type { VerifierSink } from "./sink.ts";
import type { CallParams } from "./transaction.ts";

export const defaultFreshnessSeconds = 60;

/** What is asked to be admitted. */
export interface AdmitRequest {
  readonly headers: RequestHeaders;
  /** What the call touches: one data class, which the token's own must cover. */
  readonly dataClass: string;
  /** What the transaction token of a privileged call is bound to. */
  readonly params?: CallParams | undefined;
  /** Asks for a transaction token also where the policy does not call the target privileged. */
  readonly transactionRequired?: boolean | undefined;
  /** The target that was called, where it differs from call to call: in place of the configured audience. */
  readonly audience?: string | undefined;
}

/** Whose tokens are admitted for which targets, and what is known of revocations. */
export interface VerifierOptions extends Partial<VerifierPorts> {
  readonly issuer: string;
  /** The target references that tokens for this resource server carry as `aud`; compared exactly. */
  readonly audience: string | readonly string[] | ((request: AdmitRequest) => string);
  /** The issuer's key set as a document, */
  readonly jwks?: unknown;
  /** or where it is published. Exactly one of both. */
  readonly jwksUrl?: string;
  /** Revocations and agents' keys; or the literal `"off"`, so that nobody goes without them by accident. */
  readonly identityView: IdentityViewOptions | "off";
  /** An identity view or a published key set older than this admits nobody. Default 60. */
  readonly freshnessSeconds?: number;
  /** Refuses calls without a valid `Agent-Identity`. Needs the identity view. */
  readonly identityRequired?: boolean;
  /** In memory by default, which serves one process. */
  readonly replayStore?: ReplayStore;
  readonly sink?: VerifierSink;
}

/** @throws {TypeError} for options that contradict each other or could never admit anybody */
export function checkOptions({ issuer, audience, jwks, jwksUrl, identityView, ...options }: VerifierOptions): void {
  const { freshnessSeconds = defaultFreshnessSeconds, identityRequired } = options;
  const refuseIf = (isWrong: boolean, message: string) => {
    if (isWrong) throw new TypeError(message);
  };
  refuseIf(issuer === "", "issuer must not be empty");
  refuseIf(typeof audience !== "function" && [audience].flat().length === 0, "audience must name a target");
  refuseIf((jwks === undefined) === (jwksUrl === undefined), "give either jwks or jwksUrl");
  refuseIf(!(freshnessSeconds > 0), "freshnessSeconds must be positive");
  refuseIf(identityView === undefined, 'identityView must be given, if only as "off"');
  if (identityView === "off") {
    refuseIf(identityRequired === true, "identityRequired needs an identityView");
    return;
  }
  const { refreshSeconds = defaultRefreshSeconds } = identityView;
  refuseIf(!(refreshSeconds > 0 && refreshSeconds < freshnessSeconds), "refreshSeconds must be below freshnessSeconds");
}
