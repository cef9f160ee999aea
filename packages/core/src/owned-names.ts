import type { Access } from "./kinds.ts";
import type { AgentManifest, DeclaredTool } from "./manifest.ts";
import type { DiffEntry, Reconciliation, SourceAnswer } from "./reconcile.ts";

/** An origin whose answer was accepted for the tools of a server, such as `mcp:ledger` or `http:bank`. */
export interface NameOrigin {
  readonly name: string;
  readonly origin: string;
}

/** How a tool was last accepted: the strictest, until a person accepts less. */
export interface ToolFact {
  readonly ref: string;
  readonly privileged: boolean;
  readonly access: Access;
}

/** What a manifest is accepted with. */
export interface AcceptedNames {
  readonly origins: readonly NameOrigin[];
  readonly facts: readonly ToolFact[];
}

/** What earlier manifests, of any agent, were accepted with. */
export interface NamesOnRecord extends AcceptedNames {
  /** Names of servers and references of tools that have rows, but no proven one: a person decides. */
  readonly unproven: readonly string[];
}

const serverOfRef = /^([^:/#]+:[^/#]+)[/#]/;

/** `mcp:ledger` for `mcp:ledger/post_entry`; undefined for a reference that names no server. */
export const serverName = (ref: string): string | undefined => serverOfRef.exec(ref)?.[1];

/** The origins that advertised a declared tool, under the name of its server. */
export function originsOf(manifest: AgentManifest, answers: readonly SourceAnswer[]): readonly NameOrigin[] {
  const declared = new Set(factsOf(manifest).map(({ ref }) => ref));
  const origins = new Map<string, NameOrigin>();
  for (const { origin, discovered } of answers) {
    for (const { ref } of discovered.tools ?? []) {
      const name = declared.has(ref) ? serverName(ref) : undefined;
      if (name !== undefined) origins.set(`${name} ${origin}`, { name, origin });
    }
  }
  return [...origins.values()];
}

/** The declared facts of each tool; of one under several scopes the strictest. */
function factsOf({ scopes }: AgentManifest): readonly ToolFact[] {
  const facts = new Map<string, ToolFact>();
  for (const { tools } of scopes.values()) {
    for (const tool of tools) facts.set(tool.ref, strictest(tool, facts.get(tool.ref)));
  }
  return [...facts.values()];
}

/** What an accepted manifest adds to the record: an attested one replaces facts, a reconciled one makes them stricter. */
export function toRecord(
  { status }: Pick<Reconciliation, "status">,
  manifest: AgentManifest,
  answers: readonly SourceAnswer[],
  record: NamesOnRecord,
): AcceptedNames {
  const known = knownFacts(record);
  const accepted = factsOf(manifest).map((fact) =>
    status === "attested" ? fact : strictest(fact, known.get(fact.ref)),
  );
  return { origins: originsOf(manifest, answers), facts: accepted };
}

/** What is not proven may have been the strictest. */
function knownFacts({ facts, unproven }: NamesOnRecord): ReadonlyMap<string, ToolFact> {
  const assumed = unproven.map((ref): ToolFact => ({ ref, privileged: true, access: "write" }));
  return new Map([...assumed, ...facts].map((fact) => [fact.ref, fact]));
}

const strictest = (a: ToolFact, b: ToolFact = a): ToolFact => ({
  ref: a.ref,
  privileged: a.privileged || b.privileged,
  access: a.access === "write" ? "write" : b.access,
});

/**
 * Holds a reconciled manifest against the record (docs/reference/manifest.md#names-of-servers): a server's name belongs
 * to the origin that was first accepted for it, and no tool becomes weaker without a person.
 * @param previous the agent's accepted manifest: what it declares already is no change
 */
export function heldAgainstRecord(
  outcome: Reconciliation,
  manifest: AgentManifest,
  answers: readonly SourceAnswer[],
  { previous, record, overridden }: HeldAgainst,
): Reconciliation {
  const entries = [...otherOrigins(manifest, answers, record), ...weakerFacts(manifest, previous, record)];
  if (outcome.status === "rejected" || entries.length === 0) return outcome;
  const refs = new Set(entries.map(({ ref }) => ref));
  const diff = [...entries, ...outcome.diff.filter(({ ref }) => !refs.has(ref))];
  return { ...outcome, status: overridden ? "attested" : "needs_review", diff };
}

export interface HeldAgainst {
  readonly previous: AgentManifest | undefined;
  readonly record: NamesOnRecord;
  readonly overridden: boolean;
}

function otherOrigins(
  manifest: AgentManifest,
  answers: readonly SourceAnswer[],
  { origins, unproven }: NamesOnRecord,
): readonly DiffEntry[] {
  return originsOf(manifest, answers).flatMap(({ name, origin }) => {
    const owners = origins.filter((owner) => owner.name === name).map((owner) => owner.origin);
    if (owners.includes(origin)) return [];
    const entry = { ref: name, kind: "undiscovered", field: "discovery", declared: origin } as const;
    const override = `submit with an override that says why ${origin} may answer for it.`;
    if (unproven.includes(name)) {
      return { ...entry, discovered: "", remedy: `Find out who wrote the unproven owner of ${name}, and ${override}` };
    }
    if (owners.length === 0) return [];
    const remedy = `Make discovery of ${name} read ${owners.join(" or ")}, which was accepted for that name first, or ${override}`;
    return { ...entry, discovered: owners.join(" "), remedy };
  });
}

function weakerFacts(
  manifest: AgentManifest,
  previous: AgentManifest | undefined,
  record: NamesOnRecord,
): readonly DiffEntry[] {
  const known = knownFacts(record);
  const inForce = new Set(previous && declarationsOf(previous).map(spelled));
  const weaker = new Map<string, DiffEntry>();
  for (const tool of declarationsOf(manifest)) {
    const reason = record.unproven.includes(tool.ref)
      ? "since what is on record is not proven"
      : "as it was accepted before";
    const entry = weakerFact(tool, known.get(tool.ref), reason);
    if (entry !== undefined && !inForce.has(spelled(tool))) weaker.set(tool.ref, entry);
  }
  return [...weaker.values()];
}

const declarationsOf = ({ scopes }: AgentManifest): readonly DeclaredTool[] =>
  [...scopes.values()].flatMap(({ tools }) => tools);
const spelled = ({ ref, privileged, access }: ToolFact): string => JSON.stringify([ref, privileged, access]);

function weakerFact(
  { ref, privileged, access }: ToolFact,
  known: ToolFact | undefined,
  reason: string,
): DiffEntry | undefined {
  const entry = (field: string, declared: unknown, discovered: unknown): DiffEntry => ({
    ref,
    kind: "undiscovered",
    field,
    declared,
    discovered,
    remedy: `Declare ${ref} with "${field}": ${JSON.stringify(discovered)}, ${reason}, or submit with an override that says why it is weaker now.`,
  });
  if (known?.privileged && !privileged) return entry("privileged", false, true);
  return known?.access === "write" && access === "read" ? entry("access", "read", "write") : undefined;
}
