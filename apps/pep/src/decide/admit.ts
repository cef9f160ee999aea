import type { BlockCause } from "@svc/core";
import type { Allowed } from "@svc/hop";
import type { CallRecord } from "../events.ts";
import type { Carried, Grant } from "../forward/outbound-credentials.ts";
import { guard, type Hop, type Refusal } from "../guard.ts";
import type { PepPorts, UndecidedMode } from "../http/ports.ts";
import type { CallTarget } from "../protocols/routes.ts";
import type { PepMode, Upstream } from "../upstreams/upstream.ts";
import type { Presented } from "./inbound-credentials.ts";
import type { BodyStanding } from "./settle-body.ts";

/** What becomes of a call before anything is sent upstream. */
export type Admission =
  | {
      readonly kind: "pass";
      readonly carried: Carried;
      readonly grant: Grant;
      readonly hop: Hop;
      readonly decision: Allowed;
      readonly isBodyLate: boolean;
    }
  /** Observe mode lets it pass, without any credential of ours. */
  | { readonly kind: "would_block"; readonly carried: Carried; readonly refusal: Refusal }
  | { readonly kind: "blocked"; readonly refusal: Refusal }
  | { readonly kind: "gone" };

export interface Admitting {
  readonly presented: Presented;
  readonly upstream: Upstream;
  /** Undefined where nothing says what the call is. */
  readonly call: CallTarget | undefined;
  readonly signal: AbortSignal;
  readonly settleBody: (decision: Allowed) => Promise<BodyStanding>;
}

/** The contract's order (What happens to a call): bearer, what is called, decision, token. */
export async function admit(ports: PepPorts, record: CallRecord, admitting: Admitting): Promise<Admission> {
  const { presented, upstream, call, signal, settleBody } = admitting;
  const refuse = (refusal: Refusal): Admission => refusalUnder(upstream.mode, ports.undecided, presented, refusal);
  const { credential } = presented;
  if (!credential) return refuse({ cause: "unauthorized" });
  if (!call) return refuse({ cause: "unresolvable_call" });
  const hop: Hop = {
    credential,
    call,
    enforced: upstream.mode === "enforce",
    signal,
    trace: record.trace,
    onStage: record.stage,
  };
  const verdict = await guard(ports.guard, hop, settleBody);
  switch (verdict.kind) {
    case "allowed": {
      const { decision, grant, isBodyLate } = verdict;
      return { kind: "pass", carried: carriedWith(presented, grant), grant, hop, decision, isBodyLate };
    }
    case "refused":
      return refuse(verdict.refusal);
    case "gone":
      return verdict;
    default:
      throw verdict satisfies never;
  }
}

/** Causes of a call that got no decision, or no token for one: nothing that a reviewer of decisions would see. */
const undecidedCauses: readonly BlockCause[] = [
  "unauthorized",
  "unresolvable_call",
  "pdp_unreachable",
  "exchange_unreachable",
  "mint_unreachable",
  "audit_unavailable",
];

/** Observe mode forwards what was refused on its merits, and nothing else unless told so (contract: Observe mode). */
export function refusalUnder(
  mode: PepMode,
  undecided: UndecidedMode,
  presented: Presented,
  refusal: Refusal,
): Admission {
  const isOnItsMerits = refusal.cause === "policy";
  const isForwarded = isOnItsMerits || (undecided === "forward" && undecidedCauses.includes(refusal.cause));
  return mode === "observe" && isForwarded
    ? { kind: "would_block", carried: carriedWith(presented), refusal }
    : { kind: "blocked", refusal };
}

const carriedWith = ({ foreignAuthorization }: Presented, grant?: Grant): Carried => ({
  ...(grant && { grant }),
  ...(foreignAuthorization !== undefined && { foreignAuthorization }),
});
