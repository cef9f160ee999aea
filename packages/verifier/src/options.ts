import type { RequestHeaders } from "./credentials.ts";
import { defaultRefreshSeconds, type IdentityViewOptions } from "./identity-view.ts";
import type { VerifierPorts } from "./ports.ts";
import type { ReplayStore } from "./replay-store.ts";
import type { VerifierSink } from "./sink.ts";

export const defaultFreshnessSeconds = 60;

/**
 * The parameters of a call: its body as text or bytes, or its parsed value. Give the value only where the application
 * itself uses it.
 */
export type CallParams = string | Uint8Array | Readonly<Record<string, unknown>>;

/** One call to admit. */
export interface AdmitRequest {
  readonly headers: RequestHeaders;
  /** The data class of the call, which the token's must cover. */
  readonly dataClass: string;
  /** The parameters that the transaction token of a privileged call is bound to. */
  readonly params?: CallParams | undefined;
  /** Requires a transaction token also for a target that is not privileged. */
  readonly transactionRequired?: boolean | undefined;
  /** The called target, in place of the configured audience. */
  readonly audience?: string | undefined;
}

/** Options of a verifier. */
export interface VerifierOptions extends Partial<VerifierPorts> {
  readonly issuer: string;
  /** The target references that tokens for this resource server carry as `aud`; compared exactly. */
  readonly audience: string | readonly string[] | ((request: AdmitRequest) => string);
  /** The issuer's key set; either this or `jwksUrl`. */
  readonly jwks?: unknown;
  /** The address of the issuer's key set. */
  readonly jwksUrl?: string;
  /** Revocations and agents' keys, or the literal `"off"`, so that they are not left out by accident. */
  readonly identityView: IdentityViewOptions | "off";
  /** No call is admitted by an identity view or a key set older than this. Default 60. */
  readonly freshnessSeconds?: number;
  /** Refuses calls without a valid `Agent-Identity`. Requires the identity view. */
  readonly identityRequired?: boolean;
  /** Default: in memory, for one process. */
  readonly replayStore?: ReplayStore;
  readonly sink?: VerifierSink;
}

/** @throws {TypeError} for options that contradict each other or could admit no call */
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
