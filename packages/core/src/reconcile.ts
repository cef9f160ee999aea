import { isWithin } from "./data-class.ts";
import type { ToolDefinition } from "./definitions.ts";
import type { Access, ManifestStatus } from "./kinds.ts";
import type { AgentManifest, DeclaredTool, DiscoverySource } from "./manifest.ts";
import { mcpServerRef } from "./name-patterns.ts";
import { toolRef } from "./names.ts";

/** What one discovery source advertises of one tool; an absent member advertises nothing. */
export interface DiscoveredTool {
  /** With the name that the server chose, which may be one that no manifest can declare. */
  readonly ref: string;
  readonly dataClasses?: readonly string[] | undefined;
  readonly privileged?: boolean | undefined;
  readonly access?: Access | undefined;
  readonly definition?: ToolDefinition | undefined;
}

/** What one source returned, or why nothing: `remedy` is what a person can do about it. */
export type Discovered =
  | {
      readonly ok: true;
      readonly tools: readonly DiscoveredTool[];
      /** Where the source lists downstream agents at all. */
      readonly downstreamAgents?: readonly string[] | undefined;
    }
  | {
      readonly ok: false;
      readonly remedy: string;
      /** Read before the source failed: incomplete, and binding all the same. */
      readonly tools?: readonly DiscoveredTool[] | undefined;
    };

/** `sent`: the configured one. `required`: the source refused the request for want of one that it accepts. */
export const discoveryCredentials = ["none", "sent", "required"] as const;
export type DiscoveryCredentials = (typeof discoveryCredentials)[number];

export interface SourceAnswer {
  readonly source: DiscoverySource;
  /** Of the source's URL (RFC 6454 section 6.1). */
  readonly origin: string;
  readonly discovered: Discovered;
  /** How the source was read; the version and the pages are those of an MCP server. */
  readonly facts: {
    readonly credentials: DiscoveryCredentials;
    readonly protocolVersion?: string | undefined;
    readonly pages?: number | undefined;
  };
}

export const diffKinds = ["exceeds", "conflicts", "undiscovered", "undeclarable"] as const;
export type DiffKind = (typeof diffKinds)[number];

/** One way in which a declaration and what was discovered differ, with what to do about it. */
export interface DiffEntry {
  readonly ref: string;
  readonly kind: DiffKind;
  readonly field: string;
  readonly declared: unknown;
  readonly discovered: unknown;
  readonly remedy: string;
}

export interface Reconciliation {
  readonly status: ManifestStatus;
  readonly discoveryOk: boolean;
  readonly diff: readonly DiffEntry[];
}

/**
 * Holds a manifest against what its sources advertise (docs/reference/manifest.md#reconciliation). Any contradiction
 * rejects, also under an override and with a source that failed later: an override accepts ignorance alone.
 */
export function reconcile(
  manifest: AgentManifest,
  answers: readonly SourceAnswer[],
  overridden: boolean,
): Reconciliation {
  const discoveryOk = answers.length > 0 && answers.every(({ discovered }) => discovered.ok);
  const known = stricterTools(answers);
  const tools = new Map<string, DiffEntry>();
  for (const [scope, { tools: declared }] of manifest.scopes) {
    for (const tool of declared) {
      const entry = toolDiff(tool, `scopes.${scope}.tools`, known, answers);
      // One entry a reference: a contradiction under any scope outranks ignorance under another.
      if (entry !== undefined && (!tools.has(tool.ref) || isHard(entry))) tools.set(tool.ref, entry);
    }
  }
  const declarations = [...tools.values(), ...downstreamDiff(manifest, answers)];
  const differences = declarations.length > 0 ? declarations : silentSources(answers);
  const diff = [...differences, ...answers.flatMap(undeclarable)];
  return { status: statusOf(diff, discoveryOk, overridden), discoveryOk, diff };
}

const isHard = ({ kind }: DiffEntry): boolean => kind === "exceeds" || kind === "conflicts";

function statusOf(diff: readonly DiffEntry[], discoveryOk: boolean, overridden: boolean): ManifestStatus {
  if (diff.some(isHard)) return "rejected";
  if (discoveryOk) return "reconciled";
  return overridden ? "attested" : "needs_review";
}

function toolDiff(
  declared: DeclaredTool,
  field: string,
  known: ReadonlyMap<string, DiscoveredTool>,
  answers: readonly SourceAnswer[],
): DiffEntry | undefined {
  const discovered = known.get(declared.ref);
  if (discovered !== undefined) return conflict(declared, discovered);
  const silent = silentSource(declared.ref, answers);
  if (silent === undefined) {
    return {
      ref: declared.ref,
      kind: "exceeds",
      field,
      declared: declared.ref,
      discovered: null,
      remedy: `Remove ${declared.ref} from the manifest, or have its server advertise it and submit again.`,
    };
  }
  return {
    ref: declared.ref,
    kind: "undiscovered",
    field,
    declared: declared.ref,
    discovered: null,
    remedy: silent,
  };
}

function conflict(declared: DeclaredTool, discovered: DiscoveredTool): DiffEntry | undefined {
  const entry = (field: string, ours: unknown, theirs: unknown, remedy: string): DiffEntry => ({
    ref: declared.ref,
    kind: "conflicts",
    field,
    declared: ours,
    discovered: theirs,
    remedy,
  });
  if (discovered.privileged === true && !declared.privileged) {
    const remedy = `Declare ${declared.ref} with "privileged": true: its server advertises it as destructive.`;
    return entry("privileged", false, true, remedy);
  }
  if (discovered.access === "write" && declared.access === "read") {
    const remedy = `Declare ${declared.ref} with "access": "write": its server advertises it as a write.`;
    return entry("access", "read", "write", remedy);
  }
  const advertised = discovered.dataClasses;
  const beyond = advertised && declared.dataClasses.filter((name) => !isWithin(name, advertised));
  if (beyond === undefined || beyond.length === 0) return undefined;
  const remedy = `Remove ${beyond.join(", ")} from the data classes of ${declared.ref}: its server does not advertise them.`;
  return entry("data_classes", declared.dataClasses, advertised, remedy);
}

/**
 * The remedy where a source that could have advertised the ref is silent; undefined where none is. Once any source
 * answered, a silent one excuses only its own refs.
 */
function silentSource(ref: string, answers: readonly SourceAnswer[]): string | undefined {
  if (answers.length === 0) {
    return 'Add a "discovery" entry to the manifest, or submit it with an override that states why it can be trusted.';
  }
  const own = answers.filter(({ source }) => isAuthoritativeFor(source, ref));
  const others = answers.filter(({ source }) => source.kind === "http");
  const able = own.length > 0 ? own : answers.some(({ discovered }) => discovered.ok) ? others : answers;
  const silent = able.find(({ discovered }) => !discovered.ok)?.discovered;
  return silent === undefined || silent.ok ? undefined : silent.remedy;
}

/** An MCP server or an A2A agent advertises its own refs alone; an HTTP source may list any, and none is its own. */
function isAuthoritativeFor(source: DiscoverySource, ref: string): boolean {
  switch (source.kind) {
    case "mcp":
      return mcpServerRef(ref) === `mcp:${source.name}`;
    case "a2a":
      return ref.startsWith(`a2a:${source.name}/`);
    case "http":
      return false;
  }
}

/**
 * Where every declaration was advertised by other sources: a silent source might have been stricter, so it gets an entry
 * of its own that names the repair.
 */
const silentSources = (answers: readonly SourceAnswer[]): readonly DiffEntry[] =>
  answers.flatMap(({ source, discovered }) =>
    discovered.ok
      ? []
      : {
          ref: source.name === undefined ? source.url : `${source.kind}:${source.name}`,
          kind: "undiscovered",
          field: "discovery",
          declared: source.url,
          discovered: null,
          remedy: discovered.remedy,
        },
  );

/** Of one source; a report is stored, and the source decides how much it lists. */
const maxUndeclarable = 20;

/** What a source advertises under names that no manifest can declare. Says so, and changes no status. */
function undeclarable({ discovered: { tools = [] } }: SourceAnswer): readonly DiffEntry[] {
  const refs = [...new Set(tools.flatMap(({ ref }) => (toolRef.safeParse(ref).success ? [] : legible(ref))))];
  const more = refs.length - maxUndeclarable;
  return refs.slice(0, maxUndeclarable).map((ref, at) => ({
    ref,
    kind: "undeclarable",
    field: "ref",
    declared: null,
    discovered: ref,
    remedy:
      `Rename ${ref} at its server: every call of it is denied, since a manifest declares 1-255 of A-Z a-z 0-9 . _ : / @ # - alone.` +
      (more > 0 && at === maxUndeclarable - 1 ? ` ${more} more of its names are not listed here.` : ""),
  }));
}

/** The server's own text: neither a report nor a terminal takes every character of it. */
const legible = (ref: string): string => {
  const text = ref
    .slice(0, 512)
    .toWellFormed()
    .replace(/[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu, "\uFFFD");
  return text.length > 255 ? `${[...text].slice(0, 254).join("")}…` : text;
};

/** Where several sources advertise one ref, the stricter facts hold. */
function stricterTools(answers: readonly SourceAnswer[]): ReadonlyMap<string, DiscoveredTool> {
  const known = new Map<string, DiscoveredTool>();
  for (const { discovered } of answers) {
    for (const tool of discovered.tools ?? []) known.set(tool.ref, stricter(tool, known.get(tool.ref)));
  }
  return known;
}

const stricter = (a: DiscoveredTool, b: DiscoveredTool = a): DiscoveredTool => ({
  ref: a.ref,
  privileged: a.privileged === true || b.privileged === true || (a.privileged ?? b.privileged),
  access: a.access === "write" || b.access === "write" ? "write" : (a.access ?? b.access),
  dataClasses: commonClasses(a.dataClasses, b.dataClasses),
});

function commonClasses(a: readonly string[] | undefined, b: readonly string[] | undefined) {
  if (a === undefined || b === undefined) return a ?? b;
  return [...a.filter((name) => isWithin(name, b)), ...b.filter((name) => isWithin(name, a) && !a.includes(name))];
}

/** Downstream agents are compared with the sources that list any; without a source they are undiscovered too. */
function downstreamDiff(manifest: AgentManifest, answers: readonly SourceAnswer[]): readonly DiffEntry[] {
  const listed = answers.flatMap(({ discovered }) => (discovered.ok ? (discovered.downstreamAgents ?? []) : []));
  const lists = answers.some(({ discovered }) => discovered.ok && discovered.downstreamAgents !== undefined);
  const silent = silentSource("", answers);
  const entries = new Map<string, DiffEntry>();
  for (const [scope, { downstreamAgents, tools }] of manifest.scopes) {
    for (const name of downstreamAgents) {
      const common = { ref: name, field: `scopes.${scope}.downstream_agents`, declared: name, discovered: null };
      if (lists && silent === undefined && !listed.includes(name)) {
        const remedy = `Remove ${name} from downstream_agents, or have the agent's discovery list it and submit again.`;
        entries.set(name, { ...common, kind: "exceeds", remedy });
      } else if (silent !== undefined && tools.length === 0) {
        entries.set(name, { ...common, kind: "undiscovered", remedy: silent });
      }
    }
  }
  return [...entries.values()];
}
