import { callerOf, type HopRequest } from "./hop.ts";
import type { ChainMember, Taint } from "./kinds.ts";

/** A mark says that a chain member has touched untrusted data in this session. It names its source and is never removed. */
export type Marks = ReadonlyMap<ChainMember, MarkSource>;
/** The target whose results were untrusted, or `declared` where a request declared it. */
export type MarkSource = string;

/**
 * A session's marks in two views. A mark that an observed deny left counts for observed decisions only, so that observing
 * changes nothing that is enforced (docs/reference/decision.md#effective-taint).
 */
export interface SessionMarks {
  readonly enforced: Marks;
  /** Those of `enforced`, and those that observed denies left. */
  readonly observed: Marks;
}

export interface NewMark {
  readonly member: ChainMember;
  readonly source: MarkSource;
}

export interface NewSessionMark extends NewMark {
  /** Counts for observed decisions only. */
  readonly observed: boolean;
}

/** A delegation earlier in the session. */
export interface Delegation {
  readonly from: string;
  readonly to: string;
}

export interface SessionDelegation extends Delegation {
  /** It was never allowed, only forwarded while observing. */
  readonly observed: boolean;
}

export interface EffectiveTaint {
  readonly taint: Taint;
  readonly source: MarkSource | null;
}

const declared: MarkSource = "declared";

/**
 * The highest of the token's claim, the request's declaration and the marks on the chain; a mark on the human counts for every
 * chain of the session (docs/reference/decision.md#effective-taint).
 */
export function effectiveTaint(hop: HopRequest, marks: Marks): EffectiveTaint {
  const inherited = inheritedTaint(hop, marks);
  if (inherited.taint === "untrusted_external" || hop.declaredTaint !== "untrusted_external") return inherited;
  return { taint: "untrusted_external", source: declared };
}

function inheritedTaint(hop: HopRequest, marks: Marks): EffectiveTaint {
  if (marks.size > 0) {
    const source = hop.chain.map((agent) => marks.get(agent)).findLast((mark) => mark !== undefined) ?? marks.get(null);
    if (source !== undefined) return { taint: "untrusted_external", source };
  }
  return { taint: hop.tokenTaint, source: null };
}

/** What a call leaves in the session once it is made: results of a tool, a delegation to an agent. */
export type CallEffect =
  | { readonly kind: "none" }
  | { readonly kind: "results"; readonly taint: Taint }
  | { readonly kind: "delegation" };

/** The same for both views of a session's marks. */
export interface CallEffects {
  /** A deny leaves nothing. */
  readonly enforced: CallEffect;
  /** A deny that is only observed is forwarded. */
  readonly observed: CallEffect;
}

/**
 * The marks a decision adds (docs/reference/decision.md#effective-taint). `effect` is `none` for a call that
 * will not be made; `delegations` are those of the session before this one.
 */
export function newMarks(
  hop: HopRequest,
  effect: CallEffect,
  marks: Marks,
  delegations: readonly Delegation[],
): readonly NewMark[] {
  const added = new Map<ChainMember, MarkSource>();
  const mark = (member: ChainMember, source: MarkSource): void => {
    if (!marks.has(member) && !added.has(member)) added.set(member, source);
  };
  // Also where the chain is tainted already: the mark holds in the caller's other chains too.
  if (hop.declaredTaint === "untrusted_external") mark(callerOf(hop), declared);
  if (effect.kind === "results" && effect.taint === "untrusted_external") {
    for (const member of callMembers(hop)) mark(member, hop.target);
  }
  const current = effect.kind === "delegation" ? markDelegation(hop, marks, mark, added) : [];
  markDelegators(added, [...delegations, ...current], mark);
  return [...added].map(([member, source]) => ({ member, source }));
}

/** The marks of both views, each with its own marks, effect and delegations. A mark of both is written once, as enforced. */
export function newSessionMarks(
  hop: HopRequest,
  effects: CallEffects,
  marks: SessionMarks,
  delegations: readonly SessionDelegation[],
): readonly NewSessionMark[] {
  const allowed = delegations.filter(({ observed }) => !observed);
  const enforced = newMarks(hop, effects.enforced, marks.enforced, allowed);
  const isOneView =
    effects.enforced === effects.observed && marks.enforced === marks.observed && allowed.length === delegations.length;
  const added = isOneView ? [] : newMarks(hop, effects.observed, marks.observed, delegations);
  const known = new Set(enforced.map(({ member }) => member));
  return [
    ...enforced.map((mark) => ({ ...mark, observed: false })),
    ...added.filter(({ member }) => !known.has(member)).map((mark) => ({ ...mark, observed: true })),
  ];
}

/** The human is a member only of its own calls. */
const callMembers = (hop: HopRequest): readonly ChainMember[] => (hop.chain.length === 0 ? [null] : hop.chain);

function markDelegation(
  hop: HopRequest,
  marks: Marks,
  mark: (member: ChainMember, source: MarkSource) => void,
  added: ReadonlyMap<ChainMember, MarkSource>,
): readonly Delegation[] {
  const effective = effectiveTaint(hop, marks);
  if (effective.taint === "untrusted_external") mark(hop.target, effective.source ?? declared);
  const onTarget = marks.get(hop.target) ?? added.get(hop.target);
  if (onTarget !== undefined) for (const agent of hop.chain) mark(agent, onTarget);
  const from = callerOf(hop);
  return from === null ? [] : [{ from, to: hop.target }];
}

/** Results flow back up: a new mark reaches every agent that delegated to the marked one, and on from there. */
function markDelegators(
  added: ReadonlyMap<ChainMember, MarkSource>,
  delegations: readonly Delegation[],
  mark: (member: ChainMember, source: MarkSource) => void,
): void {
  // A Map's iteration also visits what is added meanwhile, which makes this loop the closure.
  for (const [member, source] of added) {
    for (const { from, to } of delegations) if (to === member) mark(from, source);
  }
}

/** The taint of a value by its source: one that is not listed is untrusted. */
export const classifySource = (source: string, trustedSources: readonly string[]): Taint =>
  trustedSources.includes(source) ? "trusted_internal" : "untrusted_external";
