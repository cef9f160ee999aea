import type {
  AdministrativeEvent,
  AdministrativeEventKind,
  AgentSummary,
  BlockKind,
  CallCount,
  Chain,
  CompiledPolicy,
  DecisionCount,
  DecisionRecord,
  Explanation,
  FamilySession,
  IdentityFacts,
  PersonCount,
  PolicyDocument,
  ReconciledVersion,
  ScopeCount,
  ScopeSummary,
  SessionFacts,
  SessionRead,
  SessionSummary,
  SessionTotals,
  StandingBlock,
  WouldBlock,
} from "@svc/core";
import type { Context } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { ConsoleActs } from "./acts/act.ts";

/** The query of an address: each parameter once, as sent. */
export type Query = Readonly<Record<string, string>>;

/** One page of a list. */
export interface Listed<Row> {
  readonly rows: readonly Row[];
  /** The first row of the next page; undefined on the last one. */
  readonly next: Row | undefined;
  readonly nextCursor: string | null;
}

/** Why a request is refused; what the ports throw becomes one. */
export interface Refusal {
  readonly code: string;
  readonly status: ContentfulStatusCode;
  readonly message: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly details?: { readonly [name: string]: unknown } | undefined;
}

/** Who reads the record: the holder of a bearer token, or a person with a role. */
export interface Viewer {
  readonly plane: string;
  readonly label: string;
  /** Identifies the token without containing it, or the sign-in. */
  readonly id: string;
  /** The pages offer what administrators who signed in may do. */
  readonly mayAct?: boolean;
}

export interface SignInSettings {
  /** The same in every process, so that each accepts the others' cookies. */
  readonly key: Uint8Array;
  /** Whose tokens may sign in now; a token that leaves the settings ends its sign-ins. */
  readonly holders: readonly Viewer[];
  /** False only where browsers reach the console without TLS: on loopback or in development. */
  readonly isSecure: boolean;
}

/** A person who signed in with the OpenID provider. */
export interface ConsolePerson {
  /** What this person may see; undefined without a role. */
  readonly viewer: Viewer | undefined;
  /** Undefined without the role of an administrator. */
  readonly acts: ConsoleActs | undefined;
  /** The name, or the subject. */
  readonly label: string;
  /** Keeps on record that the person saw this page. @param parameters names of the query's parameters */
  recordView(page: { readonly path: string; readonly parameters: readonly string[] }): Promise<void>;
}

/** Sign-ins with an OpenID provider, beside those with a token. */
export interface ConsolePeople {
  /** Of the provider, as people know it. */
  readonly providerHost: string;
  /** By the request's cookie. */
  holder(c: Context): Promise<ConsolePerson | undefined>;
  /** Ends the sign-in of the request's cookie; whether there was one. */
  end(c: Context): Promise<boolean>;
}

export interface ConsolePorts {
  readonly reads: ConsoleReads;
  readonly clock: { nowMs(): number };
  /** Of the running build. */
  readonly version: string;
  /** The address of the service, for commands. */
  readonly issuer: string;
  /** Where the trace of a decision is found, with `{action_id}` and `{session_id}` in place of its ids. */
  readonly traceUrl: string | undefined;
  readonly signIn: SignInSettings;
  /** Undefined where no client of an OpenID provider is configured. */
  readonly people: ConsolePeople | undefined;
  /** The viewer whose token this is; undefined for any other text. */
  viewerOf(token: string): Viewer | undefined;
  /** @throws where the viewer has called too often */
  countCall(viewer: Viewer): Promise<void>;
  /** @throws for malformed encoding and repeated parameters */
  readQuery(url: string): Query;
  /** @throws for a body that is not a well-formed form */
  readForm(request: Request): Promise<ReadonlyMap<string, string>>;
  /** Reports an unforeseen fault; its cause is not in the refusal. */
  refusalOf(thrown: unknown): Refusal;
}

/** What the pages show. Reads that take a query throw for one that the audit API would refuse. */
export interface ConsoleReads {
  /** Newest first, or oldest first. A page that ends early has a cursor and no next row. */
  decisions(query: Query, pageSize?: number): Promise<Listed<DecisionRow>>;
  /**
   * What has this text as its identifier, the end of one, or a part of its name or reason; ends, persons, tools and reasons
   * among the `newest` rows.
   */
  search(text: string, newest: number): Promise<readonly Match[]>;
  /** Counts the newest decisions of the span. */
  countDecisions(count: RecentCalls & { readonly bucketMs: number }): Promise<readonly DecisionCount[]>;
  /** Counts them by caller, target and outcome. */
  countCalls(calls: RecentCalls): Promise<readonly CallCount[]>;
  /** Counts them by the person of their session, most first. */
  countPeople(calls: RecentCalls & { readonly limit: number }): Promise<readonly PersonCount[]>;
  /** Over the first `kinds` of calls in observe mode: how many belong to which scope, most first. */
  observedByScope(kinds: number): Promise<readonly ScopeCount[]>;
  wouldBlocks(query: Query): Promise<Listed<WouldBlock>>;
  action(actionId: string): Promise<Action | undefined>;
  sessions(query: Query, pageSize?: number): Promise<Listed<SessionSummary>>;
  session(sessionId: string): Promise<SessionRead | undefined>;
  /** Over the `newest` decisions of the session. */
  sessionTotals(sessionId: string, newest: number): Promise<SessionTotals>;
  /** The others that serve the same agent, oldest first. */
  sessionFamily(sessionId: string, limit: number): Promise<readonly FamilySession[]>;
  /** The seal of the decision, and of its exchange and transaction token where they are sealed. */
  evidence(actionId: string): Promise<Evidence>;
  agents(query: Query): Promise<Listed<AgentSummary>>;
  agent(name: string): Promise<AgentIdentity | undefined>;
  /** Newest first. */
  manifestVersions(agent: AgentIdentity, query: Query): Promise<Listed<ReconciledVersion>>;
  /** By agent, the latest accepted manifest as submitted. */
  acceptedManifests(agents: readonly string[]): Promise<ReadonlyMap<string, string>>;
  scopes(query: Query): Promise<Listed<ScopeSummary>>;
  /** `name`, and `version` where it is not the latest. */
  policy(query: Query): Promise<PolicyRead | undefined>;
  /** The newest policy of each scope of an agent's accepted manifest. */
  policiesOfAgent(agent: string): Promise<readonly CompiledPolicy[]>;
  /** The newest policies that have a tool. */
  policiesOfTool(tool: string): Promise<readonly CompiledPolicy[]>;
  /** The texts of pinned definitions of tools, by hash. */
  definitionTexts(hashes: readonly string[]): Promise<ReadonlyMap<string, string>>;
  blocks(limit: number): Promise<readonly StandingBlock[]>;
  /** Those of these names that are in force. */
  blocksOf(kind: BlockKind, refs: readonly string[]): Promise<readonly StandingBlock[]>;
  revokedAgents(query: Query): Promise<Listed<AdministrativeEvent>>;
  revokedSessions(limit: number): Promise<readonly AdministrativeEvent[]>;
  /** Newest first. */
  events(query: Query, pageSize?: number): Promise<Listed<AdministrativeEvent>>;
  /** Up to `most` of them. */
  countActiveSessions(most: number): Promise<number>;
  /** @param most decisions without a seal that are counted */
  sealState(most: number): Promise<SealState>;
  /** Names of the readiness checks that fail now. */
  failingChecks(): Promise<readonly string[]>;
}

/** Where a decision is in the sealed record. */
export type Evidence =
  | {
      readonly status: "sealed";
      readonly batch: number;
      readonly sealedAtMs: number;
      /** Of the signing key. */
      readonly kid: string | undefined;
      /** The decision's first. As `svc audit verify --proof` takes them. */
      readonly proofs: readonly {
        readonly leaf_index: number;
        readonly tree_size: number;
        readonly path: readonly string[];
      }[];
    }
  | { readonly status: "unsealed" }
  /** The row is not as it was sealed. */
  | { readonly status: "faulty"; readonly cause: string; readonly batch: number | undefined };

export interface Match {
  readonly kind: "action" | "session" | "event" | "agent" | "scope" | "person" | "tool";
  /** Identifier or name. */
  readonly ref: string;
  readonly isExact: boolean;
  /** Of an event; null for the others. */
  readonly eventKind: AdministrativeEventKind | null;
  readonly atMs: number | null;
  readonly reason: string | null;
}

/** The newest decisions of a span, at most `newest` of them. */
export interface RecentCalls {
  readonly sinceMs: number;
  readonly untilMs?: number;
  readonly newest: number;
  /** Without those of others. */
  readonly of?: { readonly agent: string } | { readonly target: string } | { readonly userSub: string };
}

export interface DecisionRow {
  readonly record: DecisionRecord;
  /** Of the exchange; null without one. */
  readonly spentAtMs: number | null;
  /** Of the transaction token; null without one. */
  readonly paramsHash: string | null;
}

export interface Action extends Pick<DecisionRow, "record"> {
  readonly explanation: Explanation;
  readonly chain: Chain;
  readonly session: SessionFacts;
}

export interface SealState {
  /** Of the newest seal; null without one. */
  readonly sealedAtMs: number | null;
  /** Decisions without a seal. */
  readonly unsealed: number;
  /** The time of the oldest row without one, as this process last saw it; null where all have one. */
  readonly oldestUnsealedMs: number | null;
}

export interface AgentIdentity extends IdentityFacts {
  readonly keys: readonly { readonly kid: string }[];
}

export interface PolicyRead {
  readonly scope: string;
  readonly latestVersion: number;
  readonly version: number;
  /** Undefined where the scope has no policy of this version. */
  readonly document: PolicyDocument | undefined;
}
