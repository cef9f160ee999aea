import { isNarrowed, issueTransactionToken, transactionClaims } from "@svc/tokens";
import {
  type Hop,
  type HopPorts,
  type LeaseResult,
  type SettledBody,
  TransportFault,
  type TransportRequest,
  takeHop,
} from "../../src/index.ts";
import type { Sibling } from "../../src/pool/lease.ts";
import type { Scripted } from "./scripted-transport.ts";
import { actionId, freshJti, issuerKey, narrowed, rootClaims, sessionId, signed } from "./tokens.ts";

/** How often a lease was given back: once, or never, since its token is spent. */
export const given = 1;
export const spent = 0;

export const call = { target: "http:ledger/post", targetKind: "tool", dataClass: "finance" } as const;
export const allow = {
  ...{
    action_id: actionId,
    decision: "allow",
    deny_reason: null,
    recoverable: false,
    enforced: true,
    bodySettled: true,
    hop: 2,
  },
  ...{ acting_agent: "planner", target: call.target, target_kind: "tool", data_class: call.dataClass },
  ...{ privileged: true, transaction_required: true, taint: "trusted_internal", taint_source: null },
  ...{ policy_version: 3, guarantee_level: "full", decided_at: "2026-01-01T00:00:00.000Z" },
};
export const deny = { ...allow, decision: "deny", deny_reason: "TAINT_BLOCKED" };

const planner = narrowed(rootClaims(), "planner");
export const presented = await signed(planner);
/** Leased in place of the presented token: of the same holder. */
export const sibling = await signed({ ...planner, jti: freshJti() });
const tool = narrowed(planner, call.target, { targetKind: "tool", privileged: true });
if (!isNarrowed(tool)) throw new Error("not narrowed");
export const accessToken = await signed(tool);
export const transactionToken = await issueTransactionToken(
  issuerKey,
  transactionClaims(tool, "hash", { jti: freshJti(), nowSeconds: Date.now() / 1000 }),
);
export const granted = {
  issued_token_type: "urn:ietf:params:oauth:token-type:jwt",
  token_type: "Bearer",
  expires_in: 60,
};
export const minted = {
  ...{ transaction_token: transactionToken, token_type: "N_A", expires_in: 60, action_id: actionId },
  issued_token_type: "urn:ietf:params:oauth:token-type:txn_token",
};

/** What the pool and each route return, and how the caller settles the body. */
export interface Script {
  readonly lease: Exclude<LeaseResult, { kind: "leased" }> | "leased";
  /** Of the lease to spend, which is asked for where the one to decide with is only read. */
  readonly spend?: Exclude<LeaseResult, { kind: "leased" }> | "leased";
  readonly decide: Scripted;
  readonly body: SettledBody<string>;
  readonly exchange: Scripted;
  readonly mint: Scripted;
}

export const success: Script = {
  lease: "leased",
  decide: { status: 200, body: allow },
  body: { kind: "ready", paramsJson: "{}" },
  exchange: { status: 200, body: { ...granted, access_token: accessToken } },
  mint: { status: 200, body: minted },
};

const stepOf = {
  "/v1/authorize": "decide",
  "/v1/token/exchange": "exchange",
  "/v1/token/transaction": "mint",
} as const;

export function scriptedPorts(script: Script, more: Partial<HopPorts> = {}) {
  const sent: TransportRequest[] = [];
  const log: string[] = [];
  let givenBack = 0;
  let rejected = 0;
  const replaced: Sibling[] = [];
  const leaseOf = (outcome: Script["lease"], maySpend: boolean): LeaseResult => {
    if (outcome !== "leased") return outcome;
    const lease = {
      token: sibling,
      maySpend,
      giveBack: () => (givenBack += 1),
      reject: () => (rejected += 1),
      replace: (next: Sibling) => void replaced.push(next),
    };
    return { kind: "leased", lease };
  };
  const leaseFirst = () => {
    log.push("lease");
    return leaseOf(script.lease, script.spend === undefined);
  };
  const ports: HopPorts = {
    steps: {
      monotonicMs: () => 0,
      transport: {
        async send(request) {
          const step = stepOf[request.path as keyof typeof stepOf];
          sent.push(request);
          log.push(step);
          const scripted = script[step];
          if (typeof scripted === "string") throw new TransportFault(scripted);
          return { status: scripted.status, headers: {}, body: JSON.stringify(scripted.body) };
        },
      },
    },
    pool: {
      leaseToTake: async () => leaseFirst(),
      leaseToDecide: async () => leaseFirst(),
      async lease() {
        log.push("lease to spend");
        return leaseOf(script.spend ?? "leased", true);
      },
      endRenewals() {},
      size: () => 1,
      close: async () => {},
    },
    limits: { stepMs: 1_000, hopMs: 2_500 },
    ...more,
  };
  return { ports, sent, log, replaced, givenBack: () => givenBack, rejected: () => rejected };
}

export const hop: Hop = { credential: { sessionId, token: presented }, call, enforced: true, bodySettled: true };

export async function take(script: Script, more: Partial<HopPorts> = {}) {
  const { ports, log, sent, givenBack, rejected } = scriptedPorts(script, more);
  const result = await takeHop(ports, hop, async () => {
    log.push("body");
    return script.body;
  });
  return { result, log, sent, givenBack: givenBack(), rejected: rejected() };
}
