import type {
  ChainBreakReason,
  CheckName,
  ExplainedCheck,
  GuaranteeLevel,
  IdentityStatus,
  ManifestStatus,
  SessionStatus,
} from "@svc/core";
import { html } from "hono/html";
import { badge, codes, type Markup, type Tone } from "./markup.ts";

/** The closed sets of the service in words that need no manual. */

export const checkQuestions = {
  session: "Is the session still running?",
  revocation: "Is nobody in the chain revoked?",
  identity: "Is everybody known who has to be?",
  block: "Does no emergency block stand in the way?",
  path: "Was this chain of delegations declared?",
  hop_budget: "Is the chain short enough?",
  target: "Does the caller declare the target?",
  data_class: "Is the target declared for this data?",
  narrowing: "Does it ask for no more than the hop before?",
  taint: "May it be called after what the session touched?",
} as const satisfies Record<CheckName, string>;

export const identityWords = {
  none: "never enrolled",
  enrolled: "is enrolled",
  quarantined: "is quarantined",
  revoked: "is revoked",
} as const satisfies Record<IdentityStatus, string>;

/** What a check looked at, as it was recorded. */
export function checkFacts(check: ExplainedCheck): Markup {
  switch (check.check) {
    case "session": {
      const { expired, revoked } = check.facts;
      return html`${revoked ? "it had been ended" : expired ? "it had run out" : "it was running"}`;
    }
    case "revocation": {
      const { agents, revoked } = check.facts;
      return revoked.length > 0 ? html`revoked: ${codes(revoked)}` : html`looked at ${codes(agents)}`;
    }
    case "identity": {
      const { required, statuses } = check.facts;
      const known = Object.entries(statuses).map(
        ([agent, status], at) => html`${at > 0 && ", "}<code>${agent}</code> ${identityWords[status]}`,
      );
      const rule = required ? "enrollment is required" : "enrollment is not required";
      return html`${rule}${known.length > 0 && html`; ${known}`}`;
    }
    case "block": {
      const { blocks } = check.facts;
      return blocks.length === 0
        ? html`none stood near`
        : html`${blocks.map(({ kind, ref }) => html`${kind} <code>${ref}</code> `)}`;
    }
    case "path":
      return html`the human${check.facts.chain.map((agent) => html` → <code>${agent}</code>`)}`;
    case "hop_budget":
      return html`hop ${check.facts.hop} of at most ${check.facts.budget}`;
    case "target": {
      const { caller, target, declared, scopes } = check.facts;
      return html`${caller === null ? "the human" : html`<code>${caller}</code>`} ${declared ? "declares" : "does not declare"} <code>${target}</code>${scopes.length > 0 && html`; consent to ${codes(scopes)} would admit it`}`;
    }
    case "data_class":
      return html`asked for ${codes(check.facts.asked)}, declared are ${codes(check.facts.declared)}`;
    case "narrowing": {
      const { asked, within } = check.facts;
      return within === null
        ? html`nothing was narrowed before`
        : html`asked for ${codes(asked)} within ${codes(within)}`;
    }
    case "taint": {
      const { taint, source, accepted } = check.facts;
      if (taint === "trusted_internal") return html`nothing untrusted was touched`;
      const takes = accepted === null ? "is not declared" : accepted ? "takes such calls" : "refuses such calls";
      return html`untrusted data${source !== null && html` of <code>${source}</code>`} was touched; the target ${takes}`;
    }
    default:
      return check satisfies never;
  }
}

export const breakWords = {
  LEGACY_TOKEN: "the token presented there did not say which action it came from",
  PARENT_NOT_FOUND: "the record of the hop before does not exist here",
  PARENT_MISMATCH: "the record before it belongs to another chain",
  PARENT_INCOMPLETE: "the hop before was allowed but never exchanged",
  LEGACY_RECORD: "it was written before records named the hop before",
} as const satisfies Record<ChainBreakReason, string>;

export const guaranteeWords = {
  full: "the tool verifies every call itself",
  connector: "a connector verifies for the tool",
  network: "only the enforcement point stands before the tool",
  consent_only: "nothing but the consent",
} as const satisfies Record<GuaranteeLevel, string>;

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

/** What became of a call, which observe mode changes and the decision does not say. */
export interface Outcome {
  readonly decision: "allow" | "deny";
  readonly enforced: boolean;
}

export const outcomeTone = ({ decision, enforced }: Outcome): Tone =>
  decision === "allow" ? "allow" : enforced ? "deny" : "observe";

const outcomeNames = { allow: "allowed", deny: "denied", observe: "would block", neutral: "" } as const;

export const outcomeBadge = (outcome: Outcome): Markup => {
  const tone = outcomeTone(outcome);
  return badge(tone, outcomeNames[tone]);
};
