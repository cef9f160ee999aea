import {
  type ChainBreakReason,
  type CheckName,
  type DecisionRecord,
  type DenyReason,
  denyReasonTable,
  type ExplainedCheck,
  type GuaranteeLevel,
  type ManifestStatus,
  type SessionStatus,
} from "@svc/core";
import { html } from "hono/html";
import { badge, codes, type Markup, type Tone } from "./markup.ts";

/** The closed sets of the service in plain words. */

export const denyLabel = (reason: DenyReason): string => denyReasonTable[reason].label;

/** The label of a reason, with its code in the title. */
export const denyWords = (reason: DenyReason | null): Markup | undefined =>
  reason === null ? undefined : html`<span title="${reason}">${denyLabel(reason)}</span>`;

/** Each check as a question, and its answer where the check passes. */
export const checkQuestions = {
  session: ["Session active?", "yes"],
  revocation: ["Chain or lender revoked?", "no"],
  identity: ["Identities as required?", "yes"],
  block: ["Emergency block in force?", "no"],
  path: ["Chain declared?", "yes"],
  hop_budget: ["Within the hop budget?", "yes"],
  target: ["Target declared?", "yes"],
  data_class: ["Data class declared?", "yes"],
  narrowing: ["Within what the hop before asked for?", "yes"],
  taint: ["Target accepts the session's taint?", "yes"],
} as const satisfies Record<CheckName, readonly [question: string, passed: "yes" | "no"]>;

/** The recorded facts of a check. */
export function checkFacts(check: ExplainedCheck): Markup {
  switch (check.check) {
    case "session": {
      const { expired, revoked } = check.facts;
      return html`${revoked ? "it was revoked" : expired ? "it had expired" : "it was active"}`;
    }
    case "revocation": {
      const { agents, lenders, revoked } = check.facts;
      const found =
        revoked.length > 0 ? html`revoked: ${codes(revoked)}` : html`checked ${codes([...agents, ...lenders])}`;
      return lenders.length > 0 ? html`lent by ${codes(lenders)}; ${found}` : found;
    }
    case "identity": {
      const { required, statuses } = check.facts;
      const known = Object.entries(statuses).map(
        ([agent, status]) => html`; <code>${agent}</code> is ${status === "none" ? "not enrolled" : status}`,
      );
      return html`${required ? "enrollment is required" : "enrollment is not required"}${known}`;
    }
    case "block": {
      const { blocks } = check.facts;
      return blocks.length === 0
        ? html`none`
        : html`${blocks.map(({ kind, ref }) => html`${kind} <code>${ref}</code> `)}`;
    }
    case "path":
      return html`the person${check.facts.chain.map((agent) => html` → <code>${agent}</code>`)}`;
    case "hop_budget":
      return html`hop ${check.facts.hop} of at most ${check.facts.budget}`;
    case "target": {
      const { caller, target, declared, scopes } = check.facts;
      return html`${caller === null ? "the person" : html`<code>${caller}</code>`} ${declared ? "declares" : "does not declare"} <code>${target}</code>${scopes.length > 0 && html`; consent to ${codes(scopes)} would admit it`}`;
    }
    case "data_class":
      return html`asked for ${codes(check.facts.asked)}, declared ${codes(check.facts.declared)}`;
    case "narrowing": {
      const { asked, within } = check.facts;
      return within === null ? html`the first hop` : html`asked for ${codes(asked)} within ${codes(within)}`;
    }
    case "taint": {
      const { taint, source, accepted } = check.facts;
      if (taint === "trusted_internal") return html`no untrusted data`;
      const answer = accepted === null ? "is not declared" : accepted ? "accepts it" : "does not accept it";
      return html`untrusted data${source !== null && html` of <code>${source}</code>`}; the target ${answer}`;
    }
    default:
      return check satisfies never;
  }
}

export const breakWords = {
  LEGACY_TOKEN: "the token presented there did not name the action it came from",
  PARENT_NOT_FOUND: "the record of the hop before is not stored here",
  PARENT_MISMATCH: "the record of the hop before belongs to another chain",
  PARENT_INCOMPLETE: "the hop before was allowed but never exchanged",
  LEGACY_RECORD: "it was written before records named the hop before",
} as const satisfies Record<ChainBreakReason, string>;

export const guaranteeWords = {
  full: "the tool verifies every call itself",
  connector: "a connector verifies for the tool",
  network: "only the enforcement point protects the tool",
  consent_only: "only the consent",
} as const satisfies Record<GuaranteeLevel, string>;

/** Of a question whose yes denies calls. */
export const yesNo = (is: boolean): Markup => (is ? badge("deny", "yes") : badge("allow", "no"));

const manifestTones = {
  reconciled: "allow",
  attested: "observe",
  rejected: "deny",
  needs_review: "deny",
} as const satisfies Record<ManifestStatus, Tone>;

export const manifestBadge = (status: ManifestStatus): Markup => badge(manifestTones[status], status.replace("_", " "));

const sessionTones = { active: "allow", expired: "neutral", revoked: "deny" } as const satisfies Record<
  SessionStatus,
  Tone
>;

export const sessionBadge = (status: SessionStatus): Markup => badge(sessionTones[status], status);

type Outcome = Pick<DecisionRecord, "decision" | "enforced">;

/** A deny in observe mode did not block the call. */
export const outcomeTone = ({ decision, enforced }: Outcome): "allow" | "deny" | "observe" =>
  decision === "allow" ? "allow" : enforced ? "deny" : "observe";

const outcomeNames = { allow: "allowed", deny: "denied", observe: "would block" } as const;

export const outcomeBadge = (outcome: Outcome): Markup => {
  const tone = outcomeTone(outcome);
  return badge(tone, outcomeNames[tone]);
};
