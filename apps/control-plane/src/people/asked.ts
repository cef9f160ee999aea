import { entryAgents, isInGoodStanding, type PolicyIndex } from "@svc/core";
import { sha256Base64url } from "@svc/tokens";
import { planConsent } from "../commands/sessions.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { lookAlikesOf } from "./look-alikes.ts";

/** One scope as the consent page shows it: everything that the agent may reach under it. */
export interface AskedScope {
  readonly scope: string;
  readonly policyVersion: number;
  readonly agent: string;
  /** Other registered agents whose names look like this one's. */
  readonly lookAlikes: readonly string[];
  readonly tools: readonly AskedTool[];
  /** Agents that it may hand work to, at any depth. */
  readonly downstream: readonly string[];
  readonly hopBudget: number;
  /** Seconds; of a consent that names none. */
  readonly ttlSeconds: number;
}

export interface AskedTool {
  readonly ref: string;
  readonly dataClasses: readonly string[];
  readonly privileged: boolean;
  /** What the tool's server says that it does. */
  readonly does: string | undefined;
  /** Who calls it, where that is not the agent itself. */
  readonly by: readonly string[];
}

export type Asking =
  | { readonly kind: "asked"; readonly asked: AskedScope }
  /** Why nothing can be asked, as a sentence. */
  | { readonly kind: "refused"; readonly why: string };

interface AskedBy {
  /** Absent: the scope's only entry agent. */
  readonly agent?: string | undefined;
  readonly userSub: string;
}

/** All scopes, or why one of them cannot be asked about. */
export async function askedOfAll(deps: ConsentDeps, scopes: readonly string[], by: AskedBy) {
  const asked: AskedScope[] = [];
  for (const scope of scopes) {
    const asking = await askedOf(deps, { scope, ...by });
    if (asking.kind === "refused") return asking;
    asked.push(asking.asked);
  }
  return { kind: "asked", asked } as const;
}

/** What a consent to the scope would let the agent do now. */
export async function askedOf(
  deps: ConsentDeps,
  { scope, agent, userSub }: AskedBy & { readonly scope: string },
): Promise<Asking> {
  const planned = await planConsent(deps, { scope, userSub, consentedBy: userSub });
  const quoted = `"${scope}"`;
  switch (planned.kind) {
    case "planned":
      break;
    case "scope_not_found":
      return refused(`There is no scope ${quoted} that grants anything.`);
    case "policy_recompile_required":
      return refused(
        `The policy of scope ${quoted} must be compiled again: an administrator submits a manifest of it.`,
      );
    case "no_agent_in_good_standing":
      return refused(`Every agent of scope ${quoted} is revoked, quarantined or blocked.`);
    default:
      return refused(`Scope ${quoted} changed meanwhile: start again.`);
  }
  const { policy } = planned;
  const chosen = await chooseAgent(deps, policy, agent);
  if (chosen.kind === "refused") return chosen;
  const all = await deps.manifests.agentNames();
  const members = reachable(policy, chosen.agent);
  return {
    kind: "asked",
    asked: {
      scope,
      policyVersion: policy.version,
      agent: chosen.agent,
      lookAlikes: lookAlikesOf(chosen.agent, all),
      tools: await toolsOf(deps, policy, chosen.agent, members),
      downstream: members.filter((member) => member !== chosen.agent),
      hopBudget: policy.policy.document.hop_budget,
      ttlSeconds: deps.consentTtlSeconds(scope),
    },
  };
}

const refused = (why: string): Asking & { readonly kind: "refused" } => ({ kind: "refused", why });

async function chooseAgent(deps: ConsentDeps, policy: PolicyIndex, agent: string | undefined) {
  const entries = entryAgents(policy);
  if (agent !== undefined && !entries.includes(agent)) {
    return refused(`${agent} is no agent that a person may delegate to in scope "${policy.scope}".`);
  }
  const present = await deps.sessionState.denials({ agents: entries, nowMs: deps.clock.nowMs() });
  const able = entries.filter((entry) => (agent ?? entry) === entry && isInGoodStanding(entry, present));
  const [only, ...others] = able;
  if (only !== undefined && others.length === 0) return { kind: "chosen", agent: only } as const;
  if (agent !== undefined) return refused(`${agent} is revoked, quarantined or blocked.`);
  return refused(
    `Scope "${policy.scope}" has several agents that could act for you: an administrator names one for this client in SVC_OAUTH_CLIENTS.`,
  );
}

/** The agent first, then those downstream of it, each once. */
function reachable(policy: PolicyIndex, agent: string): readonly string[] {
  const found = new Set([agent]);
  for (const member of found) for (const next of policy.agents.get(member)?.downstream ?? []) found.add(next);
  return [...found];
}

async function toolsOf(
  deps: ConsentDeps,
  policy: PolicyIndex,
  agent: string,
  members: readonly string[],
): Promise<readonly AskedTool[]> {
  const found = new Map<
    string,
    { dataClasses: Set<string>; privileged: boolean; hash: string | undefined; by: string[] }
  >();
  for (const member of members) {
    for (const [ref, grant] of policy.agents.get(member)?.tools ?? []) {
      const { privileged, definitionHash: hash } = grant;
      const tool = found.get(ref) ?? { dataClasses: new Set(), privileged, hash, by: [] };
      for (const dataClass of grant.dataClasses) tool.dataClasses.add(dataClass);
      tool.by.push(member);
      found.set(ref, tool);
    }
  }
  const hashes = [...found.values()].flatMap(({ hash }) => hash ?? []);
  const texts = await deps.manifests.definitionTexts(hashes);
  return [...found]
    .map(([ref, { dataClasses, privileged, hash, by }]) => ({
      ref,
      dataClasses: [...dataClasses].sort(),
      privileged,
      does: describedBy(hash === undefined ? undefined : texts.get(hash)),
      by: by.includes(agent) ? [] : by,
    }))
    .sort((a, b) => Number(b.privileged) - Number(a.privileged) || (a.ref < b.ref ? -1 : 1));
}

const maxDescription = 200;

/** The first sentence or so of what the server says. It is the server's text, not ours. */
function describedBy(definition: string | undefined): string | undefined {
  if (definition === undefined) return undefined;
  const { title, description } = JSON.parse(definition) as { title?: unknown; description?: unknown };
  const text = [title, description].find((each) => typeof each === "string" && each.trim() !== "");
  if (typeof text !== "string") return undefined;
  const plain = text.trim().replaceAll(/\s+/g, " ");
  return plain.length <= maxDescription ? plain : `${plain.slice(0, maxDescription - 1)}…`;
}

/** base64url(SHA-256) of what the page shows, for the record. */
export const shownHash = (asked: readonly AskedScope[], who: object): string =>
  sha256Base64url(JSON.stringify({ who, asked }));
