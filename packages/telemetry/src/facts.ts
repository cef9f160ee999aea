import { type DenyReason, isRecoverable } from "@svc/core";
import { attributeWriters } from "./attribute-json.ts";
import { type AttributeSet, createAttributeSets } from "./attribute-sets.ts";
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

const identityPairs = [
  ["authz.agent_ref", "authz.agent"],
  ["authz.act_chain_ref", "authz.act_chain"],
  ["authz.taint_source_ref", "authz.taint_source"],
] as const;
const plaintextKeys: ReadonlySet<string> = new Set(identityPairs.map(([, plaintext]) => plaintext));

/** Attributes with a value for each hop, agent or person. */
const varying = new Map(
  ["authz.action_id", "authz.session_id", ...identityPairs.flat()].map((key) => [key, attributeWriters.get(key)]),
);

const sets = createAttributeSets();

/** The attributes of one span, each as OTLP's JSON. */
export interface Attributes {
  shared: AttributeSet;
  /** By key. */
  readonly own: Record<string, string>;
}

export const noAttributes = (): Attributes => ({ shared: sets.none(), own: {} });

/** Adds what the contract admits; anything else is left out, also behind a cast. */
export function admitFacts(attributes: Attributes, facts: SpanFacts, disclose: boolean): void {
  for (const key in facts) {
    const value = facts[key as keyof SpanFacts];
    if (value == null) continue;
    const toJson = varying.get(key);
    if (toJson === undefined) attributes.shared = sets.add(attributes.shared, key, value);
    else if (disclose || !plaintextKeys.has(key)) admitOwn(attributes.own, key, toJson(value));
  }
}

function admitOwn(own: Attributes["own"], key: string, text: string | undefined): void {
  if (text !== undefined) own[key] = text;
}

/** Members of a JSON list; no plaintext beside a pseudonym (docs/reference/telemetry.md#rules). */
export function attributesJson({ shared, own }: Attributes): string {
  for (const [ref, plaintext] of identityPairs) {
    if (own[plaintext] !== undefined && own[ref] !== undefined) delete own[plaintext];
  }
  let json = sets.jsonOf(shared);
  for (const key in own) json += json === "" ? own[key] : `,${own[key]}`;
  return json;
}
