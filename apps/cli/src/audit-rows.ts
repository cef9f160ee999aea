/** What the commands read of the audit plane's answers; /openapi.json is their document. */
export interface ChainHop {
  readonly hop: number;
  readonly action_id: string;
  readonly acting_agent: string;
  readonly target: string;
  readonly target_kind: "tool" | "agent";
  readonly data_class: string;
  readonly decision: "allow" | "deny";
  readonly deny_reason: string | null;
  readonly enforced: boolean;
  readonly ts: string;
}

export interface Decision extends ChainHop {
  readonly session_id: string;
  readonly stage: string;
  readonly taint: string;
  readonly privileged: boolean;
}

export interface ChainRead {
  readonly root: {
    readonly user_sub: string;
    readonly scope: string;
    readonly consented_at: string;
    readonly session_id: string;
  };
  readonly hops: readonly ChainHop[];
  readonly complete: boolean;
  readonly break: { readonly at_hop: number; readonly reason: string } | null;
}

export interface Explanation {
  readonly action_id: string;
  readonly decision: "allow" | "deny";
  readonly deny_reason: string | null;
  readonly checks: readonly { readonly check: string; readonly passed: boolean; readonly facts: object }[];
  readonly remedy: string | null;
}

export interface WouldBlock {
  readonly agent: string;
  readonly target: string;
  readonly target_kind: "tool" | "agent";
  readonly data_class: string;
  readonly deny_reason: string;
  readonly count: number;
  readonly first_ts: string;
  readonly last_ts: string;
}
