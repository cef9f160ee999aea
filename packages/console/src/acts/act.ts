import type { BlockKind, IdentityFacts, ManifestStatus, SessionRead, StandingBlock } from "@svc/core";
import type { Context } from "hono";

export const actNames = [
  "set_block",
  "lift_block",
  "end_session",
  "end_sessions",
  "revoke_agent",
  "lift_quarantine",
] as const;
export type ActName = (typeof actNames)[number];

/** What an administrator does from a page. `ref`: a block's, the session's id, the person's subject, the agent's name. */
export type Act =
  | { readonly act: "set_block" | "lift_block"; readonly kind: BlockKind; readonly ref: string }
  | { readonly act: Exclude<ActName, "set_block" | "lift_block">; readonly ref: string };

/** A count that ends at a bound, so that a page's time does not grow. */
export interface UpTo {
  readonly count: number;
  readonly most: number;
}

/** What is so now, of what the act concerns. */
export type ActState =
  | { readonly of: "session"; readonly session: SessionRead; readonly beside: UpTo }
  | { readonly of: "person"; readonly running: UpTo }
  | {
      readonly of: "agent";
      readonly identity: IdentityFacts;
      readonly manifest: { readonly version: number; readonly status: ManifestStatus } | undefined;
      readonly running: UpTo;
    }
  | {
      readonly of: "block";
      /** Undefined where none is in force. */
      readonly block: StandingBlock | undefined;
      /** Of an agent or a scope. */
      readonly running: UpTo | undefined;
      /** Allowed calls of a tool or an agent within the last hour. */
      readonly calls: UpTo | undefined;
    };

/** What the confirmation page shows. */
export interface AskedAct {
  readonly act: Act;
  readonly state: ActState;
  /** False where it would change nothing. */
  readonly isDue: boolean;
  /** The address of the page that led here. */
  readonly from: string;
  /** The act and what was shown, sealed. */
  readonly question: string;
  /** No other site knows it. */
  readonly formToken: string;
}

/** What was done. */
export interface Done {
  readonly act: Act;
  /** Sessions that ended; else 1. */
  readonly count: number;
}

export type Committed =
  /** `result`: sealed, for the page that is shown next. */
  | { readonly kind: "done"; readonly from: string; readonly result: string }
  /** Nothing was done; the question is asked anew. */
  | { readonly kind: "again"; readonly why: Again; readonly asked: AskedAct; readonly reason: string }
  | { readonly kind: "foreign_form" | "question_over" | "signed_out" };

export type Again = "changed" | "answered" | "reason_missing" | "reason_unusable";

/** Of a person with the role `admin`. */
export interface ConsoleActs {
  /** Undefined where nothing has this name. @throws for a query that names no act */
  ask(query: Readonly<Record<string, string>>, from: string): Promise<AskedAct | undefined>;
  /** Does it once, where it is still what the page showed and the person is still signed in. */
  commit(c: Context, fields: ReadonlyMap<string, string>): Promise<Committed>;
  /** What this sign-in did a moment ago; undefined for any other text. */
  result(sealed: string): Promise<Done | undefined>;
}
