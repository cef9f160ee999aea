/** The claims of a token that an upstream received, as far as they are joined on. */
export interface BearerClaims {
  readonly jti: string;
  readonly actionId: string;
  readonly sessionId: string;
  readonly target: string;
  readonly dataClass: string;
}

/** One request that reached an upstream. */
export interface Arrival {
  readonly callId: string;
  /** What the route in front of it means, null at an upstream that is only observed. */
  readonly target: string | null;
  /** Null where it carried no token of ours. */
  readonly bearer: BearerClaims | null;
  /** The action that its transaction token is bound to, null where it carried none. */
  readonly transactionOf: string | null;
}

/** What an agent was answered for one call. */
export interface Reply {
  readonly callId: string;
  /** Null where no answer came: whether the call was made is not known to the agent. */
  readonly status: number | null;
  /** The enforcement point's mark of a block. */
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

/** A spend of kind exchange, or a renewal, which spends no allow. */
export interface RecordedSpend {
  readonly jtiHash: string;
  readonly actionId: string | null;
}

/** All that is known of one run, from the agents, the upstreams and the database. */
export interface Evidence {
  readonly replies: readonly Reply[];
  readonly arrivals: readonly Arrival[];
  readonly decisions: readonly RecordedDecision[];
  readonly spends: readonly RecordedSpend[];
  /** Actions for which a transaction token was minted. */
  readonly mints: readonly string[];
  /** Sessions whose spent token was exchanged once more. */
  readonly replaysGranted: readonly string[];
}
