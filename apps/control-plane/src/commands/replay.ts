import {
  type AgentManifest,
  type ChangedOutcome,
  encodePolicyDocument,
  indexPolicy,
  type PolicyDocument,
  redecide,
} from "@svc/core";
import { sha256Base64url } from "@svc/tokens";
import type { CountedCall, RecordedCalls, Span } from "../ports/audit-reads.ts";
import type { CommandDeps } from "./deps.ts";
import { compileScope, decodeManifest, PolicyTooLarge } from "./manifest/recompile.ts";

export interface Replay extends Span {
  /** Whose candidate it is. */
  readonly agent: string;
  readonly manifest: AgentManifest;
  readonly scope?: string | undefined;
  readonly actingAgent?: string | undefined;
  /** Where the page before ended. */
  readonly after: ReplayPosition | undefined;
}

export interface ReplayPosition {
  readonly seq: bigint;
  /** Of the compiled policies: pages of others do not add up. */
  readonly policies: string;
}

export type Change = Omit<CountedCall, "hop" | "chain" | "taint" | "narrowedTo" | "decision" | "present"> &
  ChangedOutcome;

export type Replayed =
  | ({ readonly kind: "replayed"; readonly changes: readonly Change[]; readonly judged: number } & Pick<
      RecordedCalls,
      "read" | "last"
    > & { readonly next: ReplayPosition | null })
  | { readonly kind: "policies_changed" | "scope_not_found" }
  | { readonly kind: "policy_too_large"; readonly scope: string; readonly branchingAgents: readonly string[] };

/** Decisions of the log in one page. */
const pageLength = 5_000;

/**
 * Decides recorded decisions again under a candidate manifest, compiled with the accepted ones of its scopes as its
 * submission would (docs/reference/record.md#replay). It stores nothing and asks no server.
 */
export async function replay(deps: Pick<CommandDeps, "audit" | "manifests">, command: Replay): Promise<Replayed> {
  const { sinceMs, untilMs, actingAgent, after } = command;
  const documents = await compileWith(deps, command).catch(tooLarge);
  if ("kind" in documents) return documents;
  if (documents.length === 0) return { kind: "scope_not_found" };
  const fingerprint = sha256Base64url(documents.map(encodePolicyDocument).join("\n"));
  if (after !== undefined && after.policies !== fingerprint) return { kind: "policies_changed" };
  const { read, last, calls } = await deps.audit.recordedCalls({
    ...{ sinceMs, untilMs, agent: actingAgent, after: after?.seq, limit: pageLength },
    scopes: documents.map(({ scope }) => scope),
  });
  return {
    kind: "replayed",
    changes: changesOf(documents, calls),
    judged: calls.reduce((sum, { count }) => sum + count, 0),
    ...{ read, last },
    next: last === null || read < pageLength ? null : { seq: last.seq, policies: fingerprint },
  };
}

async function compileWith(
  { manifests }: Pick<CommandDeps, "manifests">,
  { agent, manifest, scope }: Replay,
): Promise<readonly PolicyDocument[]> {
  const touched = new Set([...manifest.scopes.keys(), ...(await manifests.acceptedScopes(agent))]);
  const scopes = [...touched].filter((name) => scope === undefined || name === scope).sort();
  const others = (await manifests.accepted(scopes)).filter((accepted) => accepted.agent !== agent).map(decodeManifest);
  // No verdict depends on the version or the definitions of a manifest.
  const candidate = { agent, version: 0, manifest, definitions: new Map() };
  return scopes.map((name) => compileScope(name, [...others, candidate]));
}

function tooLarge(error: unknown) {
  if (!(error instanceof PolicyTooLarge)) throw error;
  return { kind: "policy_too_large", scope: error.scope, branchingAgents: error.branchingAgents } as const;
}

/** Like changes together, whatever their chain and taint. */
function changesOf(documents: readonly PolicyDocument[], calls: readonly CountedCall[]): readonly Change[] {
  const policies = new Map(
    documents.map((document) => [document.scope, indexPolicy({ scope: document.scope, version: 0, document })]),
  );
  const changes = new Map<string, Change>();
  for (const call of calls) {
    const policy = policies.get(call.scope);
    const changed = policy && redecide(policy, call);
    if (changed === undefined) continue;
    const { scope, actingAgent, target, targetKind, dataClass, count, firstMs, lastMs, actionIds } = call;
    const key = JSON.stringify([scope, actingAgent, target, targetKind, dataClass, changed]);
    const change = { scope, actingAgent, target, targetKind, dataClass, count, firstMs, lastMs, actionIds, ...changed };
    changes.set(key, added(changes.get(key), change));
  }
  return [...changes.values()];
}

function added(known: Change | undefined, change: Change): Change {
  if (known === undefined) return change;
  return {
    ...known,
    count: known.count + change.count,
    firstMs: Math.min(known.firstMs, change.firstMs),
    lastMs: Math.max(known.lastMs, change.lastMs),
    // Identifiers rise with time.
    actionIds: [...known.actionIds, ...change.actionIds].sort().reverse().slice(0, 3),
  };
}
