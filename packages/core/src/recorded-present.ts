import type { Block, PresentState, Verdict } from "./decide.ts";
import type { HopRequest } from "./hop.ts";
import type { IdentityStatus } from "./kinds.ts";
import { lendersOf } from "./lenders.ts";
import { mcpServerRef } from "./name-patterns.ts";
import type { PolicyIndex } from "./policy-index.ts";

/** The part of the present state that could deny: nothing else keeps who was revoked or blocked at that moment. */
export interface RecordedPresent {
  readonly expired?: true;
  readonly revoked?: true;
  /** By agent name: those of chain, target and lenders that ever enrolled, or were revoked. */
  readonly identities?: Readonly<Record<string, IdentityStatus>>;
  /** Callers had to be enrolled. */
  readonly required?: true;
  /** Those in force that concern the scope, the chain, the target or its lenders. */
  readonly blocks?: readonly Block[];
  /** Scopes whose consent would have admitted the call. */
  readonly scopes?: readonly string[];
}

/** Null where nothing is to be recorded, as mostly. */
export function recordPresent(
  policy: PolicyIndex,
  hop: HopRequest,
  { session, identities, identityRequired, blocks }: PresentState,
  verdict: Verdict,
): RecordedPresent | null {
  const near = blocks.length === 0 ? [] : nearBlocks(policy, hop, blocks);
  const scopes = verdict.outcome === "deny" ? verdict.consentableScopes : [];
  const recorded: RecordedPresent = {
    ...(session.expired && { expired: true }),
    ...(session.revoked && { revoked: true }),
    ...(identities.size > 0 && { identities: Object.fromEntries(identities) }),
    ...(identityRequired && { required: true }),
    ...(near.length > 0 && { blocks: near }),
    ...(scopes.length > 0 && { scopes }),
  };
  return Object.keys(recorded).length === 0 ? null : recorded;
}

/** At least those that the verdict function looks at. */
function nearBlocks(policy: PolicyIndex, hop: HopRequest, blocks: readonly Block[]): readonly Block[] {
  const { chain, target } = hop;
  const agents = [...chain, target, ...lendersOf(policy, hop)];
  return blocks.filter(({ kind, ref }) => {
    if (kind === "scope") return ref === policy.scope;
    return kind === "agent" ? agents.includes(ref) : ref === target || ref === mcpServerRef(target);
  });
}

/** The state for deciding again. Marks are not in it: the record holds the taint that they made. */
export const presentOf = (recorded: RecordedPresent | null): PresentState => ({
  session: { expired: recorded?.expired ?? false, revoked: recorded?.revoked ?? false },
  identities: new Map(Object.entries(recorded?.identities ?? {})),
  identityRequired: recorded?.required ?? false,
  blocks: recorded?.blocks ?? [],
  marks: new Map(),
  otherScopes: [],
});
