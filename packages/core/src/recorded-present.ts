import type { Block, PresentState, Verdict } from "./decide.ts";
import type { HopRequest } from "./hop.ts";
import type { IdentityStatus } from "./identity.ts";
import { mcpServerRef } from "./names.ts";
import type { PolicyIndex } from "./policy-index.ts";

/**
 * The present state that a verdict was made under, as far as it was not the ordinary one. Kept with the record, since
 * nothing else remembers who was revoked or blocked at that moment; the policy is pinned, and the taint is the record's.
 */
export interface RecordedPresent {
  readonly expired?: true;
  readonly revoked?: true;
  /** By agent name: those of chain and target that ever enrolled, or were revoked. */
  readonly identities?: Readonly<Record<string, IdentityStatus>>;
  /** Callers had to be enrolled. */
  readonly required?: true;
  /** Those in force that speak of the scope, the chain or the target. */
  readonly blocks?: readonly Block[];
  /** Scopes whose consent would have admitted the call. */
  readonly scopes?: readonly string[];
}

/** Null where the state was the ordinary one, as it mostly is. */
export function recordPresent(
  { scope }: Pick<PolicyIndex, "scope">,
  hop: HopRequest,
  { session, identities, identityRequired, blocks }: PresentState,
  verdict: Verdict,
): RecordedPresent | null {
  const near = blocks.filter((block) => speaksOf(block, scope, hop));
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
function speaksOf({ kind, ref }: Block, scope: string, { chain, target }: HopRequest): boolean {
  if (kind === "scope") return ref === scope;
  return ref === target || (kind === "agent" ? chain.includes(ref) : ref === mcpServerRef(target));
}

/** The state to ask the verdict function about again. Marks are not in it: the record's taint is what they made. */
export const presentOf = (recorded: RecordedPresent | null): PresentState => ({
  session: { expired: recorded?.expired ?? false, revoked: recorded?.revoked ?? false },
  identities: new Map(Object.entries(recorded?.identities ?? {})),
  identityRequired: recorded?.required ?? false,
  blocks: recorded?.blocks ?? [],
  marks: new Map(),
  otherScopes: [],
});
