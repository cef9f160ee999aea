import { type DenyReason, isRecoverable } from "@svc/core";
import { spanAttributes } from "./contract.ts";
import type { SpanFacts } from "./contract-types.ts";
import { type Check, checkOf, knownHttpMethod } from "./value-kind.ts";

/** A decision as span attributes: outcome, reason, whether consent could help. `denyReason` is null for an allow. */
export const verdictFacts = (denyReason: DenyReason | null) =>
  denyReason === null
    ? ({ "authz.outcome": "allow" } as const)
    : ({
        "authz.outcome": "deny",
        "authz.deny_reason": denyReason,
        "authz.recoverable": isRecoverable(denyReason),
      } as const);

type AttributeValue = string | number | boolean;
export type Attributes = Record<string, AttributeValue>;

const checks = new Map<string, Check>(Object.entries(spanAttributes).map(([key, kind]) => [key, checkOf(kind)]));

const identityPairs = [
  ["authz.agent_ref", "authz.agent"],
  ["authz.act_chain_ref", "authz.act_chain"],
  ["authz.taint_source_ref", "authz.taint_source"],
] as const;
const plaintextKeys: ReadonlySet<string> = new Set(identityPairs.map(([, plaintext]) => plaintext));

/** Copies what the contract admits into `attributes`; anything else is left out, also behind a cast. */
export function admitFacts(attributes: Attributes, facts: SpanFacts, disclose: boolean): void {
  for (const key in facts) {
    const value = facts[key as keyof SpanFacts];
    if (value == null || !checks.get(key)?.(value)) continue;
    if (!disclose && plaintextKeys.has(key)) continue;
    attributes[key] = key === "http.request.method" ? knownHttpMethod(String(value)) : value;
  }
}

/** A reason only with a deny and the reverse; no plaintext beside a pseudonym (docs/reference/telemetry.md#rules). */
export function settleFacts(attributes: Attributes): Attributes {
  const isDeny = attributes["authz.outcome"] === "deny";
  const hasReason = attributes["authz.deny_reason"] !== undefined;
  if (hasReason && !isDeny) delete attributes["authz.deny_reason"];
  if (isDeny && !hasReason) delete attributes["authz.outcome"];
  for (const [ref, plaintext] of identityPairs) {
    if (attributes[plaintext] !== undefined && attributes[ref] !== undefined) delete attributes[plaintext];
  }
  return attributes;
}
