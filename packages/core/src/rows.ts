import type { z } from "zod";
import type { DecisionRecord } from "./decision-record.ts";
import type { ManifestStatus } from "./kinds.ts";
import type { Reconciliation } from "./reconcile.ts";
import type { blockRead, changedDefinition, discoveryRead, manifestRead } from "./wire/admin.ts";
import type { auditEvent, sessionSummary, taintMark, wouldBlockNow } from "./wire/audit.ts";
import type { agentIdentity } from "./wire/identity.ts";
import type { CamelCased } from "./wire/spelling.ts";

/** Rows of the record and of what is declared, as a store returns them and a page shows them. */

/** A body in `camelCase`, with its times `x` as `xMs` in epoch milliseconds. */
export type Row<Schema extends z.ZodType, Time extends string> = Timed<CamelCased<z.output<Schema>>, Time>;

type Timed<Body, Time> = {
  readonly [Name in keyof Body as Name extends Time & string ? `${Name}Ms` : Name]: Name extends Time
    ? number | Extract<Body[Name], null>
    : Body[Name];
};

/** The filters of a list's query, without its page and span. */
export type Filter<Query extends z.ZodType> = Omit<CamelCased<z.output<Query>>, "limit" | "cursor" | "since" | "until">;

/** Never change after the consent. */
export type SessionFacts = Omit<
  Row<typeof sessionSummary, "consentedAt" | "expiresAt">,
  "status" | "revokedAt" | "revokedBy" | "revokedReason"
>;

export interface SessionSummary extends Pick<CamelCased<z.output<typeof sessionSummary>>, "status"> {
  readonly facts: SessionFacts;
  readonly revocation: { readonly atMs: number; readonly by: string; readonly reason: string | null } | null;
}

export interface SessionRead extends SessionSummary {
  /** In the order they were set. */
  readonly marks: readonly TaintMark[];
}

/** Of all decisions of a session. */
export interface SessionTotals {
  readonly decisions: number;
  readonly longestChain: number;
  readonly denied: number;
  readonly observed: number;
  readonly tools: number;
  readonly agents: number;
  /** Exchanged: the token of the hop before was spent. */
  readonly spentTokens: number;
  /** Null without a decision. */
  readonly firstMs: number | null;
  readonly lastMs: number | null;
}

/** A session beside another one; `agent` acts in it, `holder` asked for it. Both are null for the first of a family. */
export interface FamilySession extends SessionSummary {
  readonly agent: string | null;
  readonly holder: string | null;
}

/** The agent is null for the human: an agent may have the human's name. */
export type TaintMark = Omit<CamelCased<z.output<typeof taintMark>>, "ts"> & { readonly markedAtMs: number };

/** The details never hold a secret. */
export type AdministrativeEvent = Omit<CamelCased<z.output<typeof auditEvent>>, "ts"> & { readonly atMs: number };

/** An emergency deny above every pinned policy (docs/reference/routes.md#emergency-blocks). */
export type StandingBlock = Row<typeof blockRead, "until" | "createdAt">;

/** An agent's pinned identity (docs/reference/identity.md#statuses). Its time is the database's and never falls. */
export type IdentityFacts = Omit<Row<typeof agentIdentity, "asOf">, "jwks" | "revoked">;

export interface AgentSummary {
  readonly agentId: string;
  readonly name: string;
  readonly latestVersion: number;
  readonly latestStatus: ManifestStatus;
}

export interface ManifestVersion extends Omit<Row<typeof manifestRead, "createdAt">, "agent" | "doc"> {
  readonly attestationReason: string | null;
  /** Byte for byte as it was submitted. */
  readonly doc: string;
}

/** How one discovery source was read. */
export type DiscoveryRead = CamelCased<z.output<typeof discoveryRead>>;

/** A changed tool with its canonical forms; null where the store has none. */
export type ChangedDefinition = CamelCased<z.output<typeof changedDefinition>>;

export interface ReconciledVersion extends ManifestVersion, Pick<Reconciliation, "discoveryOk" | "diff"> {
  /** Empty for a report of an earlier release. */
  readonly discovery: readonly DiscoveryRead[];
  readonly definitions: readonly ChangedDefinition[];
}

export interface ScopeSummary {
  readonly scope: string;
  readonly version: number;
  readonly schemaVersion: number;
  readonly compiledAtMs: number;
}

export interface DecisionCount extends Pick<DecisionRecord, "decision" | "denyReason" | "enforced" | "taint"> {
  readonly scope: string;
  readonly bucketStartMs: number;
  readonly count: number;
}

/** Calls of one caller to one target that ended alike, counted together. */
export interface CallCount
  extends Pick<DecisionRecord, "actingAgent" | "target" | "targetKind" | "decision" | "denyReason" | "enforced"> {
  /** At hop 1 the caller is a person. */
  readonly byPerson: boolean;
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** The decisions in the sessions of one person. */
export interface PersonCount {
  readonly userSub: string;
  readonly count: number;
  /** Denied or observed denies. */
  readonly denied: number;
  readonly lastMs: number;
}

export type ScopeCount = Pick<DecisionCount, "scope" | "count">;

/** Equal observed denies, counted together (docs/reference/record.md#would-block-list). */
export interface WouldBlock
  extends Pick<DecisionRecord, "actingAgent" | "target" | "targetKind" | "dataClass" | "denyReason"> {
  readonly count: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly now: WouldBlockNow;
}

export type WouldBlockNow = CamelCased<z.output<typeof wouldBlockNow>>;
