import {
  type AgentManifest,
  agentManifest,
  changedDefinitions,
  type Definitions,
  type DiffEntry,
  discoveryReport,
  heldAgainstRecord,
  type ManifestStatus,
  pinnedDefinitions,
  type Reconciliation,
  readDefinitions,
  reconcile,
  type SourceAnswer,
  type ToolDefinition,
  toRecord,
} from "@svc/core";
import { sha256Base64url } from "@svc/tokens";
import type { ManifestSubmission, NameClaim, NewReport, StoredReport } from "../../ports/manifests.ts";
import type { CommandDeps } from "../deps.ts";
import { PolicyTooLarge, recompile } from "./recompile.ts";

type SubmitDeps = Pick<CommandDeps, "clock" | "ids" | "manifests" | "discover">;

export interface SubmitManifest {
  /** `first` registers the agent; `next` is for one that is registered. */
  readonly place: "first" | "next";
  readonly agent: string;
  readonly manifest: AgentManifest;
  /** The manifest's text as it was submitted, byte for byte. */
  readonly doc: string;
  /** A person attests the manifest if discovery gave no answer. */
  readonly override: { readonly reason: string | null } | undefined;
  /** The label of the bearer that submits. */
  readonly submittedBy: string;
}

export type Submitted =
  | {
      readonly kind: "accepted";
      readonly agentId: string;
      readonly version: number;
      readonly status: "reconciled" | "attested";
    }
  | { readonly kind: "refused"; readonly status: "rejected" | "needs_review"; readonly diff: readonly DiffEntry[] }
  | { readonly kind: "agent_exists" }
  | { readonly kind: "agent_not_found" }
  | { readonly kind: "policy_too_large"; readonly scope: string; readonly branchingAgents: readonly string[] };

/**
 * Reconciles a manifest with what its sources advertise, appends it as a version, and compiles every scope that it or
 * the previous version touches, in one transaction (docs/reference/manifest.md#the-compiled-policy). Discovery
 * comes first, so that no lock waits for another party's server.
 */
export async function submitManifest(deps: SubmitDeps, command: SubmitManifest): Promise<Submitted> {
  const isRegistered = (await deps.manifests.agentId(command.agent)) !== undefined;
  const misplaced = judgePlace(command, isRegistered);
  if (misplaced !== undefined) return misplaced;
  const answers = await deps.discover(command.manifest.discovery);
  const outcome = reconcile(command.manifest, answers, command.override !== undefined);
  try {
    return await deps.manifests.submit(command.agent, (submission) =>
      store(deps, command, { outcome, answers }, submission),
    );
  } catch (error) {
    if (!(error instanceof PolicyTooLarge)) throw error;
    return { kind: "policy_too_large", scope: error.scope, branchingAgents: error.branchingAgents };
  }
}

/** What a submission would find now, from the same reads in a transaction that is taken back. */
export async function previewManifest(deps: SubmitDeps, command: PreviewManifest): Promise<Preview> {
  const answers = await deps.discover(command.manifest.discovery);
  const outcome = reconcile(command.manifest, answers, command.override !== undefined);
  try {
    return await deps.manifests.submit(command.agent, async (submission) => {
      const found = (await judge(command, { outcome, answers }, submission)).outcome;
      await submission.addDefinitions(found.read.values(), deps.clock.nowMs());
      throw new TakenBack({ ...found, definitions: await submission.withTexts(found.definitions) });
    });
  } catch (error) {
    if (error instanceof TakenBack) return error.preview;
    throw error;
  }
}

export type PreviewManifest = Pick<SubmitManifest, "agent" | "manifest" | "override">;
export type Preview = Reconciliation & Pick<StoredReport, "discovery" | "definitions">;

class TakenBack extends Error {
  readonly preview: Preview;

  constructor(preview: Preview) {
    super("a preview stores nothing");
    this.preview = preview;
  }
}

function judgePlace({ place }: SubmitManifest, isRegistered: boolean): Submitted | undefined {
  if (place === "first" && isRegistered) return { kind: "agent_exists" };
  return place === "next" && !isRegistered ? { kind: "agent_not_found" } : undefined;
}

interface Reconciled {
  readonly outcome: Reconciliation;
  readonly answers: readonly SourceAnswer[];
}

interface Outcome extends Reconciliation, Pick<NewReport, "discovery" | "definitions"> {
  readonly pinned: Definitions;
  readonly read: ReadonlyMap<string, ToolDefinition>;
}

/** Of one report. */
const maxChanges = 100;

async function store(
  deps: SubmitDeps,
  command: SubmitManifest,
  reconciled: Reconciled,
  submission: ManifestSubmission,
): Promise<Submitted> {
  const misplaced = judgePlace(command, submission.agent !== undefined);
  if (misplaced !== undefined) return misplaced;
  const { outcome, scopes, record } = await judge(command, reconciled, submission);
  const { status } = outcome;
  if (status === "rejected" || status === "needs_review") return refuse(deps, command, outcome, submission);
  const agentId = submission.agent?.agentId ?? (await register(deps, command, submission));
  const version = await append(deps, command, outcome, submission, agentId);
  const names = toRecord(outcome, command.manifest, reconciled.answers, record);
  await submission.addToRecord(names, deps.clock.nowMs());
  await recompile(submission, scopes, deps.clock.nowMs());
  return { kind: "accepted", agentId, version, status };
}

/** Holds what was discovered against what was accepted before. An acceptable manifest claims its names. */
async function judge(command: PreviewManifest, reconciled: Reconciled, submission: ManifestSubmission) {
  const acceptedScopes = submission.agent?.acceptedScopes ?? [];
  const scopes = [...new Set([...command.manifest.scopes.keys(), ...acceptedScopes])];
  await submission.lockScopes(scopes);
  const record = await submission.namesOnRecord(refsOf(command.manifest));
  const accepted = await acceptedBefore(command.agent, acceptedScopes, submission);
  const held = heldAgainstRecord(reconciled.outcome, command.manifest, reconciled.answers, {
    previous: accepted?.manifest,
    record,
    overridden: command.override !== undefined,
  });
  const previous = accepted?.definitions ?? new Map();
  const read = readDefinitions(command.manifest, reconciled.answers);
  const pinned = pinnedDefinitions(command.manifest, reconciled.answers, read, previous);
  const outcome: Outcome = {
    ...held,
    discovery: discoveryReport(reconciled.answers),
    definitions: changedDefinitions(previous, pinned).slice(0, maxChanges),
    pinned,
    read,
  };
  const found = { outcome, scopes, record };
  if (outcome.status === "rejected" || outcome.status === "needs_review") return found;
  const conflicts = nameConflicts(await submission.claimNames(claimsOf(command.agent, command.manifest)));
  if (conflicts.length === 0) return found;
  return {
    ...found,
    outcome: { ...outcome, status: "rejected" as const, diff: withConflicts(outcome.diff, conflicts) },
  };
}

/** The manifest of this agent that is in force. */
async function acceptedBefore(agent: string, scopes: readonly string[], submission: ManifestSubmission) {
  const accepted = (await submission.acceptedManifests(scopes)).find((manifest) => manifest.agent === agent);
  return accepted && { ...accepted, manifest: agentManifest.parse(JSON.parse(accepted.doc)) };
}

async function register({ ids, clock }: SubmitDeps, { agent }: SubmitManifest, submission: ManifestSubmission) {
  const agentId = ids.next();
  await submission.addAgent({ agentId, name: agent, createdAtMs: clock.nowMs() });
  return agentId;
}

/** A refused version is kept beside the accepted ones. A refused first registration leaves only its report. */
async function refuse(
  deps: SubmitDeps,
  command: SubmitManifest,
  outcome: Outcome,
  submission: ManifestSubmission,
): Promise<Submitted> {
  if (submission.agent === undefined) await report(deps, command, outcome, submission, null);
  else await append(deps, command, outcome, submission, submission.agent.agentId);
  return {
    kind: "refused",
    status: outcome.status === "needs_review" ? "needs_review" : "rejected",
    diff: outcome.diff,
  };
}

async function append(
  deps: SubmitDeps,
  command: SubmitManifest,
  outcome: Outcome,
  submission: ManifestSubmission,
  agentId: string,
): Promise<number> {
  const version = (submission.agent?.latestVersion ?? 0) + 1;
  await submission.addVersion({
    agentId,
    version,
    status: outcome.status,
    attestedBy: attestedBy(outcome.status, command.submittedBy),
    attestationReason: outcome.status === "attested" ? (command.override?.reason ?? null) : null,
    doc: command.doc,
    scopes: [...command.manifest.scopes.keys()],
    definitions: outcome.pinned,
    createdAtMs: deps.clock.nowMs(),
  });
  await submission.addDefinitions(outcome.read.values(), deps.clock.nowMs());
  await report(deps, command, outcome, submission, { agentId, version });
  return version;
}

function attestedBy(status: ManifestStatus, submittedBy: string): string | null {
  if (status === "reconciled") return "discovery";
  return status === "attested" ? `human:${submittedBy}` : null;
}

/** The reconciliation and the event of the submission, in the transaction of the version. */
async function report(
  { ids, clock }: SubmitDeps,
  { agent, doc, override, submittedBy }: SubmitManifest,
  { status, discoveryOk, diff, discovery, definitions }: Outcome,
  submission: ManifestSubmission,
  stored: { readonly agentId: string; readonly version: number } | null,
): Promise<void> {
  const atMs = clock.nowMs();
  const manifestVersion = stored?.version ?? null;
  await submission.addReport({
    reportId: ids.next(),
    agentName: agent,
    agentId: stored?.agentId ?? null,
    manifestVersion,
    status,
    discoveryOk,
    diff,
    discovery,
    definitions,
    checkedAtMs: atMs,
  });
  await submission.addEvent({
    eventId: ids.next(),
    kind: status === "attested" ? "manifest_overridden" : "manifest_submitted",
    atMs,
    actor: submittedBy,
    agent,
    reason: override?.reason ?? null,
    details: { status, manifest_version: manifestVersion, manifest_sha256: sha256Base64url(doc) },
  });
}

/** The names that a manifest claims: its agent and its tools. */
const claimsOf = (agent: string, manifest: AgentManifest): readonly NameClaim[] => [
  { name: agent, kind: "agent" },
  ...refsOf(manifest).map((name) => ({ name, kind: "tool" }) as const),
];

const refsOf = ({ scopes }: AgentManifest): readonly string[] => [
  ...new Set([...scopes.values()].flatMap(({ tools }) => tools.map(({ ref }) => ref))),
];

/** No name is both an agent and a tool's reference. The later manifest gets the conflict in its diff. */
const nameConflicts = (taken: readonly NameClaim[]): readonly DiffEntry[] =>
  taken.map(({ name, kind }) => ({
    ref: name,
    kind: "conflicts",
    field: kind === "agent" ? "name" : "tools",
    declared: kind,
    discovered: kind === "agent" ? "tool" : "agent",
    remedy:
      kind === "agent"
        ? `Register the agent by another name: ${name} is a tool's reference already.`
        : `Give the tool another reference: ${name} is an agent's name already.`,
  }));

/** One entry per reference; a conflict replaces other differences. */
const withConflicts = (diff: readonly DiffEntry[], conflicts: readonly DiffEntry[]): readonly DiffEntry[] => [
  ...diff.filter(({ ref }) => !conflicts.some((conflict) => conflict.ref === ref)),
  ...conflicts,
];
