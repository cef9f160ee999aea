import {
  type consentRequest,
  type DenyReason,
  entryAgents,
  grantsNothing,
  isInGoodStanding,
  type PolicyIndex,
  type PresentDenials,
  policySchemaVersion,
  type SessionFacts,
  type SessionRead,
} from "@svc/core";
import type { SessionFilter } from "../ports/audit-reads.ts";
import type { EndEvent, Ending } from "../ports/sessions.ts";
import type { BodyOf, CommandDeps } from "./deps.ts";
import { isUuid } from "./identifier.ts";

type PlanDeps = Pick<
  CommandDeps,
  "clock" | "ids" | "policies" | "sessionState" | "consentTtlSeconds" | "requireAcknowledged"
>;
type ConsentDeps = PlanDeps & Pick<CommandDeps, "sessions" | "signer">;

/** `policyVersion` is the one that the human saw. */
interface GrantConsent extends BodyOf<typeof consentRequest> {
  /** The label of the bearer that consents for the human. */
  readonly consentedBy: string;
}

type Consented =
  | { readonly kind: "granted"; readonly session: SessionFacts; readonly rootGrant: string }
  | { readonly kind: "scope_not_found" | "policy_recompile_required" }
  | { readonly kind: "policy_version_changed"; readonly currentVersion: number }
  | { readonly kind: "no_agent_in_good_standing"; readonly agents: readonly DeniedAgent[] };

interface DeniedAgent {
  readonly agent: string;
  readonly reason: DenyReason;
}

type Planned =
  | {
      readonly kind: "planned";
      readonly session: SessionFacts;
      readonly policyHash: string;
      readonly policy: PolicyIndex;
    }
  | Exclude<Consented, { readonly kind: "granted" }>;

/** Starts a session, which pins the scope's current policy (docs/reference/routes.md#consent). */
export async function grantConsent(deps: ConsentDeps, command: GrantConsent): Promise<Consented> {
  const planned = await planConsent(deps, command);
  if (planned.kind !== "planned") return planned;
  const { session, policyHash } = planned;
  const denialEpoch = await deps.sessions.create(session, { eventId: deps.ids.next(), policyHash });
  return { kind: "granted", session, rootGrant: await deps.signer.rootGrant(session, denialEpoch) };
}

/** The session that a consent would start now; it stores nothing. */
export async function planConsent(deps: PlanDeps, command: GrantConsent): Promise<Planned> {
  const { scope, userSub, ttlSeconds = deps.consentTtlSeconds(command.scope), policyVersion, consentedBy } = command;
  deps.requireAcknowledged();
  const latest = await deps.policies.latest(scope);
  if (latest === undefined) return { kind: "scope_not_found" };
  if (latest.schemaVersion !== policySchemaVersion) return { kind: "policy_recompile_required" };
  const policy = await deps.policies.pinned(scope, latest.version);
  const policyHash = await deps.policies.documentHash(scope, latest.version);
  if (policy === undefined || policyHash === undefined || grantsNothing(policy.policy.document))
    return { kind: "scope_not_found" };
  if (policyVersion !== undefined && policyVersion !== latest.version) {
    return { kind: "policy_version_changed", currentVersion: latest.version };
  }
  const agents = entryAgents(policy);
  const consentedAtMs = deps.clock.nowMs();
  const present = await deps.sessionState.denials({ agents, nowMs: consentedAtMs });
  if (!agents.some((agent) => isInGoodStanding(agent, present))) {
    return { kind: "no_agent_in_good_standing", agents: agents.map((agent) => deniedAgent(agent, present)) };
  }
  const session: SessionFacts = {
    sessionId: deps.ids.next(),
    userSub,
    scope,
    policyVersion: latest.version,
    hopBudget: policy.policy.document.hop_budget,
    consentedBy,
    consentedAtMs,
    // A whole second, as in the tokens: they end when the session is said to.
    expiresAtMs: (Math.floor(consentedAtMs / 1000) + ttlSeconds) * 1000,
  };
  return { kind: "planned", session, policyHash, policy };
}

function deniedAgent(agent: string, { identities }: PresentDenials): DeniedAgent {
  const status = identities.get(agent);
  if (status === "revoked") return { agent, reason: "AGENT_REVOKED" };
  return { agent, reason: status === "quarantined" ? "AGENT_QUARANTINED" : "TARGET_BLOCKED" };
}

type EndDeps = Pick<CommandDeps, "clock" | "ids" | "sessions">;

/**
 * Ends the session and returns it, and whether this call ended it; undefined if there is none. A session that has ended
 * stays as it is.
 */
export async function revokeSession(
  deps: EndDeps,
  sessionId: string,
  by: Omit<Ending, "atMs">,
): Promise<{ readonly session: SessionRead; readonly ended: boolean } | undefined> {
  if (!isUuid(sessionId)) return undefined;
  const ended = await deps.sessions.end(sessionId, ...endingOf(deps, by));
  const session = await deps.sessions.read(sessionId, deps.clock.nowMs());
  return session && { session, ended };
}

function endingOf({ clock, ids }: EndDeps, { by, reason, onPage }: Omit<Ending, "atMs">): [Ending, EndEvent] {
  const atMs = clock.nowMs();
  const event = { kind: "session_revoked", atMs, actor: by, reason, onPage, details: {} } as const;
  return [{ by, atMs, reason }, (sessionId) => ({ ...event, eventId: ids.next(), sessionId })];
}

/** Each batch is one short transaction, so that a hundred thousand ends delay no decision. */
const batchSize = 500;

/** Ends every running session that matches and returns how many. */
export async function endSessions(
  deps: EndDeps,
  { status, ...filter }: SessionFilter,
  by: Omit<Ending, "atMs">,
): Promise<number> {
  if (status !== undefined && status !== "active") return 0;
  const ending = endingOf(deps, by);
  let total = 0;
  let batch: readonly string[] = [];
  do {
    batch = await deps.sessions.endSome({ filter, after: batch.at(-1), limit: batchSize }, ...ending);
    total += batch.length;
  } while (batch.length === batchSize);
  return total;
}
