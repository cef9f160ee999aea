import { html } from "hono/html";
import { isolated, type Markup, plural } from "../markup.ts";
import type { Act, Again, Done } from "./act.ts";

/** The acts in plain words. */

interface Words {
  /** On the link and the button that lead to it. */
  readonly offer: string;
  /** What will happen, from the next decision on. */
  readonly effect: Markup;
  readonly done: Markup;
}

const name = (ref: string): Markup => html`<code>${isolated(ref)}</code>`;

const blockEffects = {
  tool: (ref: string) => html`Every call of the tool ${name(ref)} is denied, in every session and scope.`,
  agent: (ref: string) =>
    html`Every call by the agent ${name(ref)}, to it, and by a chain that it is in, is denied, in every session.`,
  scope: (ref: string) => html`Every call in a session of the scope ${name(ref)} is denied.`,
} as const;

const unblocked = html`It lasts until it is lifted.`;

function wordsOf(act: Act, count = 1): Words {
  const { ref } = act;
  switch (act.act) {
    case "set_block":
      return {
        offer: `Block this ${act.kind}`,
        effect: html`${blockEffects[act.kind](ref)} ${unblocked}`,
        done: html`The ${act.kind} ${name(ref)} is blocked.`,
      };
    case "lift_block":
      return {
        offer: "Lift the block",
        effect: html`The ${act.kind} ${name(ref)} is blocked no more. Policies alone decide its calls.`,
        done: html`The block of the ${act.kind} ${name(ref)} is lifted.`,
      };
    case "end_session":
      return {
        offer: "End this session",
        effect: html`The session ends for good, with those beside it. All their tokens are refused. To go on, the person consents again.`,
        done: html`${plural(count, "session")} ended.`,
      };
    case "end_sessions":
      return {
        offer: "End all sessions of this person",
        effect: html`Every running session of ${isolated(ref)} ends for good. All their tokens are refused. The person may consent again.`,
        done: html`${plural(count, "session")} of ${isolated(ref)} ended.`,
      };
    case "revoke_agent":
      return {
        offer: "Revoke this agent",
        effect: html`The agent ${name(ref)} is revoked for good: every chain that it is in is denied, in every session. It cannot be undone. To use its workload again, register it under another name.`,
        done: html`The agent ${name(ref)} is revoked.`,
      };
    case "lift_quarantine":
      return {
        offer: "Lift the quarantine",
        effect: html`The agent ${name(ref)} counts as one that never enrolled: it may enroll again, and where no enrollment is required its calls are decided by their policies.`,
        done: html`The quarantine of the agent ${name(ref)} is lifted.`,
      };
    default:
      return act satisfies never;
  }
}

export const offerWords = (act: Act): string => wordsOf(act).offer;
export const effectWords = (act: Act): Markup => wordsOf(act).effect;
export const doneWords = ({ act, count }: Done): Markup => wordsOf(act, count).done;

export const againWords = {
  changed: "This changed since the page was shown",
  answered: "This form was sent before",
  reason_missing: "Give a reason",
  reason_unusable: "This reason cannot be recorded",
} as const satisfies Record<Again, string>;

export const againAdvice = {
  changed: "Nothing was done. Read below what is so now.",
  answered: "Nothing was done a second time. Read below what is so now.",
  reason_missing: "Nothing was done. The record keeps why.",
  reason_unusable: "Nothing was done. It has at most 1,000 characters, without control characters.",
} as const satisfies Record<Again, string>;
