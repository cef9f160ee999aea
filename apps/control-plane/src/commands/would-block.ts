import { setImmediate as nextTurn } from "node:timers/promises";
import {
  type DenyReason,
  decide,
  denyReasons,
  type HopRequest,
  lendersOf,
  type PolicyIndex,
  type PresentState,
  policySchemaVersion,
  recordedHop,
  recordedNarrowing,
  type WouldBlock,
  type WouldBlockNow,
} from "@svc/core";
import type { WouldBlockPlace, WouldBlockQuery, WouldBlockRow } from "../ports/audit-reads.ts";
import { AuthorityUnproven, type Policies } from "../ports/manifests.ts";
import type { CommandDeps } from "./deps.ts";
import { verdictOf } from "./hop/verdict.ts";

type JudgeDeps = Pick<CommandDeps, "audit" | "policies" | "sessionState" | "clock" | "hopSettings">;

/** How far back `since_version` looks. */
const mostVersions = 32;

/**
 * Decides the calls of would-block groups again, by the newest policy of their scopes and the present denials
 * (docs/reference/record.md#what-the-newest-policy-decides). What cannot be decided is open.
 */
export async function judgeNow(
  deps: JudgeDeps,
  { scope, sinceMs, untilMs }: Pick<WouldBlockQuery, "scope" | "sinceMs" | "untilMs">,
  rows: readonly WouldBlockRow[],
): Promise<readonly (WouldBlockRow & WouldBlock)[]> {
  const groups = rows.map(({ position }) => position);
  const places = await deps.audit.wouldBlockPlaces({ scope, sinceMs, untilMs, groups });
  const calls = rows.map((row, n) => places[n]?.map((place) => callAt(row, place)) ?? []);
  const policies = readOnce(deps.policies);
  const present = await readDenials(deps, policies, calls.flat());
  const judged: (WouldBlockRow & WouldBlock)[] = [];
  for (const [n, row] of rows.entries()) {
    judged.push({ ...row, now: await judgeGroup(policies, present, row, calls[n] ?? []) });
    await nextTurn();
  }
  return judged;
}

interface PlacedCall {
  readonly scope: string;
  readonly hop: HopRequest;
  /** The parent's record is missing. */
  readonly isUnknown: boolean;
}

const callAt = (row: WouldBlockRow, place: WouldBlockPlace): PlacedCall => ({
  scope: place.scope,
  hop: recordedHop({ ...row, ...place }, recordedNarrowing(place)),
  isUnknown: place.hop > 1 && place.narrowedTo === null,
});

/** Of one page. */
interface PagePolicies extends Pick<Policies, "currentOf"> {
  /** Undefined where it cannot be used: nothing is compiled, by an older schema, or without the service's mark. */
  newest(scope: string): Promise<PolicyIndex | undefined>;
  version(scope: string, version: number): Promise<PolicyIndex | undefined>;
}

function readOnce(policies: Policies): PagePolicies {
  const newest = new Map<string, Promise<PolicyIndex | undefined>>();
  const current = new Map<string, ReturnType<Policies["currentOf"]>>();
  const version = (scope: string, number: number) => policies.pinned(scope, number).catch(unlessUnproven);
  const readNewest = async (scope: string): Promise<PolicyIndex | undefined> => {
    const latest = await policies.latest(scope);
    return latest?.schemaVersion === policySchemaVersion ? version(scope, latest.version) : undefined;
  };
  return {
    version,
    newest: (scope) => kept(newest, scope, () => readNewest(scope)),
    currentOf: (agents) => kept(current, agents.join(" "), () => policies.currentOf(agents)),
  };
}

function kept<T>(known: Map<string, T>, key: string, read: () => T): T {
  const value = known.get(key) ?? read();
  known.set(key, value);
  return value;
}

function unlessUnproven(error: unknown): undefined {
  if (!(error instanceof AuthorityUnproven)) throw error;
}

/** What denies the agents of all calls at present, in one read. */
async function readDenials(
  { sessionState, clock, hopSettings: { identityRequired } }: JudgeDeps,
  policies: PagePolicies,
  calls: readonly PlacedCall[],
): Promise<PresentState> {
  const agents = new Set<string>();
  for (const { scope, hop } of calls) {
    const policy = await policies.newest(scope);
    const lenders = policy === undefined ? [] : lendersOf(policy, hop);
    for (const agent of [...hop.chain, ...(hop.targetKind === "agent" ? [hop.target] : []), ...lenders])
      agents.add(agent);
  }
  const denials = await sessionState.denials({ agents: [...agents], nowMs: clock.nowMs() });
  const session = { expired: false, revoked: false };
  return { ...denials, session, identityRequired, marks: new Map(), otherScopes: [] };
}

async function judgeGroup(
  policies: PagePolicies,
  denials: PresentState,
  { denyReason }: WouldBlockRow,
  calls: readonly PlacedCall[],
): Promise<WouldBlockNow> {
  // Sessions that ended do not run again.
  const session = { expired: denyReason === "SESSION_EXPIRED", revoked: denyReason === "SESSION_REVOKED" };
  const byScope = Map.groupBy(calls, ({ scope }) => scope);
  const scopes: ScopeNow[] = [];
  for (const [scope, ofScope] of byScope) {
    scopes.push({ scope, ...(await judgeScope(policies, { ...denials, session }, ofScope)) });
  }
  scopes.sort((a, b) => (a.scope < b.scope ? -1 : 1));
  const isAdmitted = scopes.length > 0 && scopes.every(({ sinceVersion }) => sinceVersion !== null);
  return { status: isAdmitted ? "admitted" : "open", scopes };
}

type ScopeNow = WouldBlockNow["scopes"][number];
type CallNow = Omit<ScopeNow, "scope">;

/** Of several places the reason of the earliest check. */
async function judgeScope(
  policies: PagePolicies,
  present: PresentState,
  calls: readonly PlacedCall[],
): Promise<CallNow> {
  const reasons: DenyReason[] = [];
  let sinceVersion: number | null = 0;
  for (const call of calls) {
    const now = await judgeCall(policies, present, call).catch(unlessUnproven);
    if (now?.denyReason) reasons.push(now.denyReason);
    sinceVersion = now?.sinceVersion && sinceVersion !== null ? Math.max(sinceVersion, now.sinceVersion) : null;
  }
  return { sinceVersion, denyReason: denyReasons.find((reason) => reasons.includes(reason)) ?? null };
}

async function judgeCall(
  policies: PagePolicies,
  present: PresentState,
  { scope, hop, isUnknown }: PlacedCall,
): Promise<CallNow | undefined> {
  const newest = await policies.newest(scope);
  if (newest === undefined) return undefined;
  const verdict = await verdictOf({ policies }, newest, hop, present);
  if (verdict.outcome === "allow") {
    return { sinceVersion: await admittedSince(policies, newest, hop, present), denyReason: null };
  }
  return isUnknown && verdict.reason === "DATA_CLASS_WIDENED"
    ? undefined
    : { sinceVersion: null, denyReason: verdict.reason };
}

/** The first of the versions up to the newest that all admit it. */
async function admittedSince(policies: PagePolicies, newest: PolicyIndex, hop: HopRequest, present: PresentState) {
  let since = newest.version;
  while (since > 1 && newest.version - since < mostVersions) {
    const before = await policies.version(newest.scope, since - 1);
    if (before === undefined || decide(before, hop, present).outcome === "deny") break;
    since -= 1;
  }
  return since;
}
