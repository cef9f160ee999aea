import { type DenyReason, isRecoverable } from "@svc/core";
import { attributeWriters } from "./attribute-json.ts";
import type { SpanFacts } from "./contract-types.ts";

/** A decision as span attributes: outcome, reason, whether consent could help. `denyReason` is null for an allow. */
export const verdictFacts = (denyReason: DenyReason | null) =>
  denyReason === null
    ? ({ "authz.outcome": "allow" } as const)
    : ({
        "authz.outcome": "deny",
        "authz.deny_reason": denyReason,
        "authz.recoverable": isRecoverable(denyReason),
      } as const);

/** Of the attributes of one span: each as OTLP's JSON, by its key. */
export type AttributeTexts = Record<string, string>;

const identityPairs = [
  ["authz.agent_ref", "authz.agent"],
  ["authz.act_chain_ref", "authz.act_chain"],
  ["authz.taint_source_ref", "authz.taint_source"],
] as const;
const plaintextKeys: ReadonlySet<string> = new Set(identityPairs.map(([, plaintext]) => plaintext));

/** Adds what the contract admits; anything else is left out, also behind a cast. */
export function admitFacts(attributes: AttributeTexts, facts: SpanFacts, disclose: boolean): void {
  for (const key in facts) {
    const value = facts[key as keyof SpanFacts];
    if (value == null) continue;
    const text = attributeWriters.get(key)?.(value);
    if (text === undefined || (!disclose && plaintextKeys.has(key))) continue;
    attributes[key] = text;
  }
}

const denied = attributeWriters.get("authz.outcome")?.("deny");

/** A reason only with a deny and the reverse; no plaintext beside a pseudonym (docs/reference/telemetry.md#rules). */
export function settleFacts(attributes: AttributeTexts): AttributeTexts {
  const isDeny = attributes["authz.outcome"] === denied;
  const hasReason = attributes["authz.deny_reason"] !== undefined;
  if (hasReason && !isDeny) delete attributes["authz.deny_reason"];
  if (isDeny && !hasReason) delete attributes["authz.outcome"];
  for (const [ref, plaintext] of identityPairs) {
    if (attributes[plaintext] !== undefined && attributes[ref] !== undefined) delete attributes[plaintext];
  }
  return attributes;
}
