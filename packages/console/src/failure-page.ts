import { html } from "hono/html";
import { isolated, link, type Markup, notice } from "./markup.ts";
import type { Refusal } from "./ports.ts";
import type { View } from "./view.ts";

const startAgain = html`<p>Start from ${link("/console", "the overview")}.</p>`;

/** By error code: what went wrong and what to do. Any other code is a fault of the service. */
const explanations: Readonly<Record<string, { readonly title: string; readonly advice: Markup }>> = {
  invalid_request: {
    title: "Invalid address",
    advice: html`<p>Correct the fields listed below in the address, or start from ${link("/console", "the overview")}.</p>`,
  },
  route_not_found: { title: "Page not found", advice: startAgain },
  method_not_allowed: { title: "Method not allowed", advice: startAgain },
  rate_limited: {
    title: "Too many calls",
    advice: html`<p>Your token is over its rate limit (<code>SVC_RATE_LIMIT_PER_BEARER</code>), which the console shares with other callers of the same token. Wait a moment, then reload the page.</p>`,
  },
  database_unavailable: {
    title: "Database unavailable",
    advice: html`<p>Until the database responds, no page can be shown and no call is allowed. Check <a href="/readyz">/readyz</a> and the database in <code>DATABASE_URL</code> (for reads <code>AUDIT_DATABASE_URL</code>), then reload this page.</p>`,
  },
};

const unforeseen = {
  title: "Internal error",
  advice: html`<p>The service's log has the cause, at the time of this page. Reload it; if the error stays, report it with that log line.</p>`,
};

/** The page in place of one that is refused. */
export function failurePage({ code, status, message, headers, details }: Refusal): View {
  const { title, advice } = explanations[code] ?? unforeseen;
  return {
    title,
    status,
    ...(headers && { headers }),
    body: html`${notice("deny", message, advice)}${issueList(details?.issues)}`,
  };
}

function issueList(issues: unknown): Markup | undefined {
  if (!Array.isArray(issues)) return undefined;
  return html`<ul>${(issues as readonly { readonly path: string; readonly message: string }[]).map(
    ({ path, message }) => html`<li><code>${path || "address"}</code> ${isolated(message)}</li>`,
  )}</ul>`;
}

/** @param list the page that lists what exists */
export const notFoundPage = (what: string, list: string, listName: string): View => ({
  title: `No such ${what}`,
  status: 404,
  body: notice(
    "deny",
    `The service has no ${what} with this name or id.`,
    html`<p>It may be mistyped, or its month is past the retention. Look for it in ${link(list, listName)}.</p>`,
  ),
});
