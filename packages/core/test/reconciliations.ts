import type { ManifestStatus } from "../src/kinds.ts";
import { type AgentManifest, agentManifest } from "../src/manifest.ts";
import type { Discovered, DiscoveredTool, SourceAnswer } from "../src/reconcile.ts";

export const ledger = { kind: "mcp", name: "ledger", url: "https://ledger.internal/mcp" } as const;
export const files = { kind: "mcp", name: "files", url: "https://files.internal/mcp" } as const;
const auditor = { kind: "a2a", name: "auditor", url: "https://auditor.internal" } as const;
const list = { kind: "http", name: "list", url: "https://tools.internal/list" } as const;
const nameless = { kind: "http", url: "https://more.internal/list" } as const;

type Source = SourceAnswer["source"];
export const answered = (source: Source, discovered: Discovered): SourceAnswer => ({
  source,
  origin: source.url.replace(/^(https?:\/\/[^/]+).*$/, "$1"),
  discovered,
  facts: { credentials: "none" },
});
export const says = (source: Source, ...tools: readonly DiscoveredTool[]): SourceAnswer =>
  answered(source, { ok: true, tools });
const lists = (source: Source, ...downstreamAgents: readonly string[]): SourceAnswer =>
  answered(source, { ok: true, tools: [], downstreamAgents });
/** Its source failed after it had listed these tools. */
const saysFirst = (source: Source, ...tools: readonly DiscoveredTool[]): SourceAnswer =>
  answered(source, { ok: false, remedy: `Make ${source.url} answer.`, tools });
export const isSilent = (source: Source): SourceAnswer => answered(source, silence(source));
const silence = (source: Source): Discovered => ({ ok: false, remedy: `Make ${source.url} answer.` });

export const post = "mcp:ledger/post";
const read = "mcp:files/read";

export const declaring = (members: object) =>
  agentManifest.parse({ scopes: { expenses: { hop_budget: 4, ...members } } });
const tools = (...declared: readonly object[]) =>
  declaring({ tools: declared.map((tool) => ({ data_classes: ["finance"], ...tool })) });

/** Most rows are about one tool. */
export const posting = (members: object = {}) => tools({ ref: post, ...members });
export const posts = (source: Source, facts: Omit<DiscoveredTool, "ref"> = {}) => says(source, { ref: post, ...facts });

const underTools = "scopes.expenses.tools";
const tooMuch = `${post} exceeds ${underTools}`;
const unheard = `${post} undiscovered ${underTools}`;
const conflict = (field: string) => `${post} conflicts ${field}`;

/** A manifest compared with its sources. */
export interface ReconciliationRow {
  readonly name: string;
  readonly manifest: AgentManifest;
  readonly answers: readonly SourceAnswer[];
  /** Without an override. */
  readonly status: ManifestStatus;
  /** What each entry is about: ref, kind, field. */
  readonly diff: readonly string[];
}

const row =
  (status: ManifestStatus) =>
  (
    name: string,
    manifest: AgentManifest,
    answers: readonly SourceAnswer[],
    ...diff: readonly string[]
  ): ReconciliationRow => ({
    name,
    manifest,
    answers,
    status,
    diff,
  });
const reconciled = row("reconciled");
const rejected = row("rejected");
const needsReview = row("needs_review");

const both = tools({ ref: post }, { ref: read });

const agreeing: readonly ReconciliationRow[] = [
  reconciled("what is advertised", both, [posts(ledger), says(files, { ref: read })]),
  reconciled("less than is advertised", posting(), [says(ledger, { ref: post }, { ref: "mcp:ledger/void" })]),
  reconciled("a tool stricter than advertised", posting({ privileged: true, access: "write" }), [
    posts(ledger, { privileged: false, access: "read" }),
  ]),
  reconciled("a privileged tool advertised as destructive", posting({ privileged: true }), [
    posts(ledger, { privileged: true }),
  ]),
  reconciled("a write advertised as one", posting({ access: "write" }), [posts(ledger, { access: "write" })]),
  reconciled("data within what is advertised", posting({ data_classes: ["finance.entries"] }), [
    posts(ledger, { dataClasses: ["crm", "finance"] }),
  ]),
  reconciled("any data where none is advertised", posting({ data_classes: ["law"] }), [posts(ledger)]),
  reconciled("an HTTP source speaking for a tool of another server", posting(), [posts(list)]),
  reconciled("an agent that is listed", declaring({ downstream_agents: ["clerk"] }), [lists(list, "clerk", "auditor")]),
  reconciled("agents where no source lists any", declaring({ downstream_agents: ["clerk"] }), [says(ledger)]),
  reconciled("agents listed by two sources together", declaring({ downstream_agents: ["clerk", "auditor"] }), [
    lists(list, "clerk"),
    lists(nameless, "auditor"),
  ]),
];

const exceeding: readonly ReconciliationRow[] = [
  rejected("a tool that its server does not advertise", posting(), [says(ledger, { ref: "mcp:ledger/void" })], tooMuch),
  rejected(
    "a tool advertised under another server's name",
    posting(),
    [says(files, { ref: "mcp:files/post" })],
    tooMuch,
  ),
  rejected(
    "a tool that its answering server does not advertise, while another source is silent",
    posting(),
    [says(ledger), isSilent(files)],
    tooMuch,
  ),
  rejected(
    "a skill that its answering agent does not advertise, while a tool server is silent",
    tools({ ref: "a2a:auditor/audit" }),
    [says(auditor), isSilent(ledger)],
    "a2a:auditor/audit exceeds scopes.expenses.tools",
  ),
  rejected(
    "a tool that only an HTTP source could list, while a tool server is silent",
    tools({ ref: "http:ledger/post" }),
    [says(list), isSilent(ledger)],
    `http:ledger/post exceeds ${underTools}`,
  ),
  rejected(
    "an agent that the list leaves out",
    declaring({ downstream_agents: ["clerk", "lawyer"] }),
    [lists(list, "clerk")],
    "lawyer exceeds scopes.expenses.downstream_agents",
  ),
  rejected(
    "any agent where the list is empty",
    declaring({ downstream_agents: ["clerk"] }),
    [lists(list)],
    "clerk exceeds scopes.expenses.downstream_agents",
  ),
];

const conflicting: readonly ReconciliationRow[] = [
  rejected(
    "an unprivileged tool advertised as destructive",
    posting(),
    [posts(ledger, { privileged: true })],
    conflict("privileged"),
  ),
  rejected("a read advertised as a write", posting(), [posts(ledger, { access: "write" })], conflict("access")),
  rejected(
    "data that is not advertised",
    posting({ data_classes: ["finance", "law"] }),
    [posts(ledger, { dataClasses: ["finance"] })],
    conflict("data_classes"),
  ),
  rejected(
    "data around what is advertised",
    posting(),
    [posts(ledger, { dataClasses: ["finance.entries"] })],
    conflict("data_classes"),
  ),
  rejected(
    "data that begins like what is advertised",
    posting({ data_classes: ["financeX"] }),
    [posts(ledger, { dataClasses: ["finance"] })],
    conflict("data_classes"),
  ),
  rejected(
    "any data where an empty list is advertised",
    posting(),
    [posts(ledger, { dataClasses: [] })],
    conflict("data_classes"),
  ),
  rejected(
    "several contradictions in one entry a tool",
    tools({ ref: post }, { ref: read }),
    [posts(ledger, { privileged: true, access: "write", dataClasses: [] }), says(files, { ref: read })],
    conflict("privileged"),
  ),
  rejected(
    "one of two tools",
    both,
    [posts(ledger, { privileged: true }), says(files, { ref: read })],
    conflict("privileged"),
  ),
];

const stricterOfTwo: readonly ReconciliationRow[] = [
  rejected(
    "the second source alone calls it destructive",
    posting(),
    [posts(ledger, { privileged: false }), posts(list, { privileged: true })],
    conflict("privileged"),
  ),
  rejected(
    "the first source alone calls it destructive",
    posting(),
    [posts(ledger, { privileged: true }), posts(list, { privileged: false })],
    conflict("privileged"),
  ),
  rejected(
    "the first source alone calls it a write",
    posting(),
    [posts(ledger, { access: "write" }), posts(list, { access: "read" })],
    conflict("access"),
  ),
  rejected(
    "the second source alone calls it a write",
    posting(),
    [posts(ledger, { access: "read" }), posts(list, { access: "write" })],
    conflict("access"),
  ),
  rejected(
    "data that only one of two sources advertises",
    posting({ data_classes: ["crm"] }),
    [posts(ledger, { dataClasses: ["finance", "crm"] }), posts(list, { dataClasses: ["finance"] })],
    conflict("data_classes"),
  ),
  reconciled("data within the narrower of two sources", posting({ data_classes: ["finance.entries"] }), [
    posts(ledger, { dataClasses: ["finance"] }),
    posts(list, { dataClasses: ["finance.entries"] }),
  ]),
  rejected(
    "data around the narrower of two sources",
    posting(),
    [posts(ledger, { dataClasses: ["finance.entries"] }), posts(list, { dataClasses: ["finance"] })],
    conflict("data_classes"),
  ),
  reconciled("a source that says nothing of a fact leaves it to the other", posting(), [
    posts(ledger, { dataClasses: ["finance"], privileged: false, access: "read" }),
    posts(list),
  ]),
  rejected(
    "one source that lists a tool twice",
    posting(),
    [says(ledger, { ref: post }, { ref: post, privileged: true })],
    conflict("privileged"),
  ),
];

/** Accepted with an override, as its reason is the attestation. */
const unknown: readonly ReconciliationRow[] = [
  needsReview("no source at all", both, [], unheard, `${read} undiscovered ${underTools}`),
  needsReview(
    "no source at all for agents alone",
    declaring({ downstream_agents: ["clerk"] }),
    [],
    "clerk undiscovered scopes.expenses.downstream_agents",
  ),
  needsReview("the one source is silent", posting(), [isSilent(ledger)], unheard),
  needsReview(
    "the one source is silent, on a tool that is not its own",
    tools({ ref: "http:ledger/post" }),
    [isSilent(ledger)],
    `http:ledger/post undiscovered ${underTools}`,
  ),
  needsReview(
    "one of two sources is silent",
    both,
    [posts(ledger), isSilent(files)],
    `${read} undiscovered ${underTools}`,
  ),
  needsReview(
    "a silent list might have had the tool",
    tools({ ref: "http:ledger/post" }),
    [says(ledger), isSilent(list)],
    `http:ledger/post undiscovered ${underTools}`,
  ),
  needsReview(
    "a silent source might have been stricter on a tool that is known",
    posting(),
    [posts(ledger), isSilent(nameless)],
    `${nameless.url} undiscovered discovery`,
  ),
  needsReview(
    "a silent source of nothing that is declared",
    posting(),
    [posts(ledger), isSilent(files)],
    "mcp:files undiscovered discovery",
  ),
  needsReview(
    "a silent agent",
    tools({ ref: "a2a:auditor/audit" }),
    [isSilent(auditor)],
    "a2a:auditor/audit undiscovered scopes.expenses.tools",
  ),
  needsReview(
    "a skill of a silent agent, while a tool server answers",
    tools({ ref: "a2a:auditor/audit" }),
    [says(ledger), isSilent(auditor)],
    `a2a:auditor/audit undiscovered ${underTools}`,
  ),
  needsReview(
    "a silent list of agents",
    declaring({ downstream_agents: ["clerk"] }),
    [lists(list, "auditor"), isSilent(nameless)],
    "clerk undiscovered scopes.expenses.downstream_agents",
  ),
];

const knownAndUnknown: readonly ReconciliationRow[] = [
  rejected(
    "a contradiction beside ignorance",
    both,
    [posts(ledger, { privileged: true }), isSilent(files)],
    conflict("privileged"),
    `${read} undiscovered ${underTools}`,
  ),
  rejected(
    "a tool too many beside ignorance",
    both,
    [says(ledger), isSilent(files)],
    tooMuch,
    `${read} undiscovered ${underTools}`,
  ),
];

/** A source that failed on a later page: what it listed before holds. */
const interrupted: readonly ReconciliationRow[] = [
  rejected(
    "a contradiction to what was read",
    posting(),
    [saysFirst(ledger, { ref: post, privileged: true })],
    conflict("privileged"),
  ),
  rejected(
    "a contradiction to what was read, while another source is whole",
    both,
    [saysFirst(ledger, { ref: post, access: "write" }), says(files, { ref: read })],
    conflict("access"),
  ),
  needsReview("a tool that may stand on the rest", posting(), [saysFirst(ledger, { ref: "mcp:ledger/void" })], unheard),
  needsReview(
    "a tool that was read",
    posting(),
    [saysFirst(ledger, { ref: post })],
    "mcp:ledger undiscovered discovery",
  ),
];

const spaced = { ref: "mcp:ledger/void entry" };
const untold = `${spaced.ref} undeclarable ref`;

/** What a source advertises under a name that no manifest can declare changes no status. */
const undeclarable: readonly ReconciliationRow[] = [
  reconciled("beside what is advertised", posting(), [says(ledger, { ref: post }, spaced)], untold),
  rejected("beside a contradiction", posting(), [says(ledger, spaced)], tooMuch, untold),
  needsReview(
    "read before its source failed",
    posting(),
    [saysFirst(ledger, { ref: post }, spaced)],
    "mcp:ledger undiscovered discovery",
    untold,
  ),
  reconciled("listed by two pages, once", posting(), [says(ledger, { ref: post }, spaced, spaced)], untold),
];

export const reconciliations = {
  agreeing,
  exceeding,
  conflicting,
  stricterOfTwo,
  unknown,
  knownAndUnknown,
  interrupted,
  undeclarable,
};
