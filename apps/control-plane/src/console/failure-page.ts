import type { ErrorCode } from "@svc/core";
import { html } from "hono/html";
import type { ApiError } from "../http/api-error.ts";
import type { RequestIssue } from "../http/issues.ts";
import { link, type Markup, notice } from "./markup.ts";

export interface Failure {
  readonly title: string;
  readonly body: Markup;
}

interface Told {
  readonly title: string;
  readonly advice: Markup;
}

const startAgain: Told = {
  title: "That address cannot be read",
  advice: html`<p>Correct what is named below in the address, or start from ${link("/console", "the overview")}.</p>`,
};

const notFound = (what: string, where: string, name: string): Told => ({
  title: `There is no such ${what}`,
  advice: html`<p>It may have been mistyped, or its month may be past the life that records have here. Look for it in ${link(where, name)}.</p>`,
});

/** What went wrong, in words, and what to do next; whatever is not told here is a fault of the service. */
const told: Partial<Readonly<Record<ErrorCode, Told>>> = {
  invalid_request: startAgain,
  action_not_found: notFound("action", "/console/decisions", "the decisions"),
  session_not_found: notFound("session", "/console/sessions", "the sessions"),
  agent_not_found: notFound("agent", "/console/agents", "the agents"),
  scope_not_found: notFound("scope", "/console/scopes", "the scopes"),
  policy_version_not_found: notFound("policy version", "/console/scopes", "the scopes"),
  manifest_version_not_found: notFound("manifest version", "/console/agents", "the agents"),
  route_not_found: {
    title: "There is no such page",
    advice: html`<p>Start from ${link("/console", "the overview")}.</p>`,
  },
  method_not_allowed: {
    title: "This page is only read",
    advice: html`<p>Start from ${link("/console", "the overview")}.</p>`,
  },
  rate_limited: {
    title: "Too many calls",
    advice: html`<p>Your token is over its rate (<code>SVC_RATE_LIMIT_PER_BEARER</code>), which the console shares with other callers of the same token. Wait a moment, then load the page again.</p>`,
  },
  database_unavailable: {
    title: "The database does not answer",
    advice: html`<p>Nothing can be shown, and no call is allowed, until it does. Look at <a href="/readyz">/readyz</a> and at the database that <code>DATABASE_URL</code> (for reads <code>AUDIT_DATABASE_URL</code>) names, then load this page again.</p>`,
  },
};

const unforeseen: Told = {
  title: "The service failed",
  advice: html`<p>The service's log says why, at the time of this page. Load it again; if it stays, report it with that log line.</p>`,
};

/** An answer that is no page of the console, as one. */
export function failurePage(error: ApiError): Failure {
  const { title, advice } = told[error.code] ?? unforeseen;
  return { title, body: html`${notice("deny", error.message, advice)}${issuesOf(error)}` };
}

function issuesOf({ details }: ApiError): Markup | undefined {
  // Only `invalidRequest` makes them.
  const issues = (details?.issues ?? []) as readonly RequestIssue[];
  if (issues.length === 0) return undefined;
  return html`<ul>${issues.map(({ path, message }) => html`<li><code>${path || "address"}</code> ${message}</li>`)}</ul>`;
}
