/** Tokens that the control plane issued for one call. */
export interface Grant {
  readonly sessionId: string;
  readonly accessToken: string;
  /** For a privileged target: bound to the exact body. */
  readonly transactionToken?: string;
  readonly identityAssertion?: string;
}

/** The credentials of a forwarded call. Without a grant it is one that observe mode forwards although it was refused. */
export interface OutboundCredentials {
  readonly grant?: Grant;
  readonly foreignAuthorization?: string;
}
