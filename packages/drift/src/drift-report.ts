import type { ChainMember, DenyReason, TargetKind } from "@svc/core";
import { type TracedEdge, traceFaultKinds } from "./aggregate.ts";

/** The results of a run of the gate. */
export const driftResults = ["pass", "drift", "error"] as const;
/** One of `driftResults`. */
export type DriftResult = (typeof driftResults)[number];

/** Why a run of the gate proves nothing. */
export const driftErrorKinds = [
  ...traceFaultKinds,
  /** No edge was recorded: nothing was tested, or nothing was recorded. */
  "nothing_observed",
  /** A call without a usable decision: what the agent would have done next is unknown. */
  "undecided",
  /** An edge whose session's scope no process of the run knew. */
  "scope_unknown",
  /** No such file or folder, no manifest in it, or it cannot be read. */
  "manifest_unreadable",
  /** Not a manifest that the control plane would take. */
  "manifest_invalid",
  "manifest_repeated",
  /** Over 10,000 delegation paths. */
  "policy_too_large",
  /** No such file, or not a list of expected denials. */
  "expected_denials_unreadable",
  /** No recorded deny is the expected one: its test did not run. */
  "expected_denial_unmet",
  /** The manifests admit the call whose deny is expected. */
  "expected_denial_admitted",
] as const;
/** One of `driftErrorKinds`. */
export type DriftErrorKind = (typeof driftErrorKinds)[number];

/** Why a run proves nothing, and where. */
export interface DriftError {
  readonly kind: DriftErrorKind;
  /** For people. */
  readonly message: string;
  readonly file?: string;
  readonly line?: number;
}

/** An edge of a known scope. */
export type ScopedEdge = TracedEdge & { readonly scope: string };

/** A recorded call that the verdict function refuses on the manifests. */
export interface UndeclaredEdge {
  readonly edge: ScopedEdge;
  readonly reason: DenyReason;
  /** For SCOPE_NOT_CONSENTED: the scopes whose consent would admit the call. */
  readonly consentableScopes: readonly string[];
  /** The change to a manifest that would admit it, for people. */
  readonly remedy: string;
  /** The caller's manifest, where it came from a file. */
  readonly manifestFile?: string;
}

/** A declared edge that no run exercised. */
export interface UnexercisedEdge {
  readonly scope: string;
  /** Null for the human. */
  readonly caller: ChainMember;
  readonly target: string;
  readonly targetKind: TargetKind;
  /** Of a tool; null for a delegation. */
  readonly dataClass: string | null;
  readonly manifestFile?: string;
}

/** Counts of what was recorded and found. */
export interface DriftSummary {
  /** Different edges recorded. */
  readonly edges: number;
  readonly events: number;
  readonly runs: number;
  readonly undeclared: number;
  readonly expectedDenials: number;
  readonly unexercised: number;
  /** Events missing from the traces, as far as is known. */
  readonly lostEvents: number;
}

/** What the gate found (docs/reference/client.md#value-objects). */
export interface DriftReport {
  /** `error` where the run proves nothing; else `drift` where a recorded call is undeclared. */
  readonly result: DriftResult;
  readonly summary: DriftSummary;
  readonly undeclared: readonly UndeclaredEdge[];
  /** Undeclared calls that were all denied, and whose deny a test expects. */
  readonly expectedDenials: readonly UndeclaredEdge[];
  readonly errors: readonly DriftError[];
  readonly warnings: readonly UnexercisedEdge[];
}

/** 0 only for a clean, evidenced pass; 1 for drift; 2 for an error (docs/reference/drift.md#the-gate). */
export function exitCodeFor({ result }: Pick<DriftReport, "result">): 0 | 1 | 2 {
  if (result === "pass") return 0;
  // Also for a report that another program wrote: an unknown result is not a pass.
  return result === "drift" ? 1 : 2;
}
