import { html } from "hono/html";
import { age, badge, count, href, link, type Markup, notice } from "./markup.ts";
import type { SealState } from "./ports.ts";

/** Whether the service is ready, and what it guards now. */

export function readiness(failing: readonly string[]): Markup {
  if (failing.length === 0) {
    return html`<p class="ready">${badge("allow", "ready")} Database and cache store respond.</p>`;
  }
  return notice(
    "deny",
    `Not ready: ${failing.map((name) => name.replace("_", " ")).join(", ")}`,
    html`${[...new Set(failing.map((name) => failureTexts.get(name) ?? noResponse))]}`,
  );
}

const noResponse = html`<p>Calls that need it are refused until it responds. See <a href="/readyz">/readyz</a> and the service's log.</p>`;

/** Of the checks that fail for another reason than a store without a response. */
const failureTexts: ReadonlyMap<string, Markup> = new Map([
  [
    "restore",
    html`<p>The database is older than one that was served before, so no call is allowed. Raise the issuer's epoch, as <a href="/readyz">/readyz</a> says.</p>`,
  ],
  [
    "seals",
    html`<p>The table of seals has rows that are not this service's. Calls are decided and recorded. <code>svc audit verify</code> names the rows: find out who wrote them, and let a database administrator remove them.</p>`,
  ],
  ["draining", html`<p>This process is ending: it completes its calls, and another process takes the next ones.</p>`],
]);

const upTo = (value: number, most: number): string => (value < most ? count(value) : `${count(most)} or more`);

/** An active session is a consent that agents act under now. */
export const sessionsNow = (active: number, most: number): Markup =>
  link(href("/console/sessions", { status: "active" }), upTo(active, most));

/** A row is sealed a minute after it was made; twice the longest wait is a fault. */
const behindMs = 600_000;

export function sealing({ sealedAtMs, unsealed, oldestUnsealedMs }: SealState, most: number, nowMs: number): Markup {
  // Of the last run: no row may be left of those that it found.
  const oldestMs = unsealed > 0 ? oldestUnsealedMs : null;
  const isBehind = oldestMs !== null && oldestMs < nowMs - behindMs;
  const left =
    unsealed === 0
      ? html`All decisions are sealed`
      : html`${upTo(unsealed, most)} ${unsealed === 1 ? "decision is" : "decisions are"} not sealed yet`;
  const last = sealedAtMs === null ? html`none yet` : age(sealedAtMs);
  return html`${isBehind ? badge("deny", "behind") : badge("allow", "on time")} Last seal ${last}. ${left}${oldestMs !== null && html`, the oldest from ${age(oldestMs)}`}.`;
}
