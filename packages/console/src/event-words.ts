import type { AdministrativeEvent, AdministrativeEventKind } from "@svc/core";
import { html } from "hono/html";
import { type Content, isolated, link, type Markup, time } from "./markup.ts";
import { actionPath, agentPath, personPath, scopePath, sessionPath, shortId, toolLink } from "./places.ts";

/** Administrative events in plain words. */

export const eventNames = {
  manifest_submitted: "Manifest submitted",
  manifest_overridden: "Manifest accepted by a person",
  consent_granted: "Consent granted",
  consent_refused: "Consent refused",
  token_renewed: "Token renewed",
  enroll_token_issued: "Enrollment token issued",
  agent_enrolled: "Agent enrolled",
  agent_quarantined: "Agent quarantined",
  quarantine_lifted: "Quarantine lifted",
  agent_revoked: "Agent revoked",
  block_set: "Block set",
  block_lifted: "Block lifted",
  key_rotated: "Key rotated",
  key_removed: "Key removed",
  issuer_epoch_raised: "Issuer epoch raised",
  session_revoked: "Session ended",
  records_retired: "Records retired",
  signed_in: "Signed in",
  sign_in_ended: "Signed out",
  console_viewed: "Console page viewed",
} as const satisfies Record<AdministrativeEventKind, string>;

/** Kinds whose actor is a person, who has a page; elsewhere it is the label of a bearer, or an agent. */
const personal: ReadonlySet<AdministrativeEventKind> = new Set(["consent_refused", "signed_in", "console_viewed"]);

export const actorOf = ({ kind, actor, details }: AdministrativeEvent): Markup | string => {
  const isPerson = personal.has(kind) || details.sign_in_id !== undefined;
  return isPerson ? link(personPath(actor), actor) : actor;
};

/** What the event concerns, each with its page. */
export function subjectsOf({ agent, sessionId, details }: AdministrativeEvent): Markup {
  const { kind, ref } = details;
  const subjects = [
    agent !== null && html`agent ${link(agentPath(agent), agent)}`,
    typeof ref === "string" && kind !== "agent" && blocked(String(kind), ref),
    sessionId !== null && html`session ${shortId(sessionPath(sessionId), sessionId)}`,
  ].filter((subject) => subject !== false);
  return html`${subjects.map((subject) => html`<div>${subject}</div>`)}`;
}

const blocked = (kind: string, ref: string): Markup =>
  kind === "tool" ? html`tool ${toolLink(ref)}` : html`scope ${link(scopePath(ref), ref)}`;

/** Details that `subjectsOf` shows. */
const shownElsewhere: ReadonlySet<string> = new Set(["kind", "ref"]);

/** The details of an event, each with its name. */
export const detailList = ({ details }: AdministrativeEvent): Markup =>
  html`${Object.entries(details)
    .filter(([name, value]) => !shownElsewhere.has(name) && value !== null && value !== "")
    .map(
      ([name, value]) =>
        html`<div><span class="quiet">${detailName(name)}</span> ${detailOf(name, value, details)}</div>`,
    )}`;

const names: Readonly<Record<string, string>> = {
  user_sub: "person",
  kid: "key",
  sign_in_id: "sign-in",
  parameters: "with filters",
  path: "page",
};

/** Names of hashes have their algorithm at the end. */
const detailName = (name: string): string => names[name] ?? name.replace(/_sha256$/, "_hash").replaceAll("_", " ");

type Details = AdministrativeEvent["details"];

function detailOf(name: string, value: Details[string], details: Details): Content {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value !== "string") return value;
  switch (name) {
    case "scope":
      return scopeOf(value, details.policy_version);
    case "user_sub":
      return link(personPath(value), value);
    case "agent":
      return link(agentPath(value), value);
    case "beside":
      return shortId(sessionPath(value), value);
    case "action_id":
      return shortId(actionPath(value), value);
    case "path":
      // The record has no values of filters: without them the address is of another page.
      return value.startsWith("/console") && !details.parameters
        ? html`<a href="${value}"><code>${value}</code></a>`
        : html`<code>${value}</code>`;
    case "until":
      return Number.isNaN(Date.parse(value)) ? isolated(value) : time(Date.parse(value));
    default:
      return isCode(value) ? html`<code title="${value}">…${value.slice(-8)}</code>` : isolated(value);
  }
}

/** A refusal names all scopes it was asked for, and no version. */
const scopeOf = (scope: string, version: Details[string] | undefined): Content =>
  typeof version === "number" ? link(scopePath(scope, version), scope) : isolated(scope);

/** Hashes and identifiers are shown by their end; the title has all of them. */
const isCode = (value: string): boolean => /^[\w-]{32,}$/.test(value);
