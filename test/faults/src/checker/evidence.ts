/** The claims of a token at an upstream, as far as they join it to the record. */
export interface BearerClaims {
  readonly jti: string;
  readonly actionId: string;
  readonly sessionId: string;
  readonly target: string;
  readonly dataClass: string;
}

/** A request at an upstream. */
export interface Arrival {
  readonly callId: string;
  /** The hop of its route, null at an upstream that is only observed. */
  readonly target: string | null;
  /** Null where it had no token of ours. */
  readonly bearer: BearerClaims | null;
  /** The action of its transaction token, null without one. */
  readonly transactionOf: string | null;
}

/** An agent's result of one call. */
export interface Reply {
  readonly callId: string;
  /** Null without a response: the agent does not know whether the call was made. */
  readonly status: number | null;
  /** The enforcement point's header of a block. */
  readonly blocked: string | null;
}

export interface RecordedDecision {
  readonly actionId: string;
  readonly sessionId: string;
  readonly stage: string;
  readonly hop: number;
  readonly actingAgent: string;
  readonly target: string;
  readonly dataClass: string;
  readonly decision: string;
  readonly enforced: boolean;
  readonly privileged: boolean;
  readonly parentActionId: string | null;
}

/** A spend by an exchange, or by a renewal, which spends no allow. */
export interface RecordedSpend {
  readonly jtiHash: string;
  readonly actionId: string | null;
}

/** All evidence of one run, from the agents, the upstreams and the database. */
export interface Evidence {
  readonly replies: readonly Reply[];
  readonly arrivals: readonly Arrival[];
  readonly decisions: readonly RecordedDecision[];
  readonly spends: readonly RecordedSpend[];
  /** Actions with a minted transaction token. */
  readonly mints: readonly string[];
  /** Sessions in which a spent token was exchanged again. */
  readonly replaysGranted: readonly string[];
}
