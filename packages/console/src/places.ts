import type { DecisionRecord } from "@svc/core";
import { html } from "hono/html";
import { href, link, type Markup } from "./markup.ts";

/** Addresses of the pages, and links to them. */
export const actionPath = (actionId: string): string => `/console/actions/${encodeURIComponent(actionId)}`;
export const sessionPath = (sessionId: string): string => `/console/sessions/${encodeURIComponent(sessionId)}`;
export const agentPath = (agent: string): string => `/console/agents/${encodeURIComponent(agent)}`;
/** In the query: a subject may hold any text. */
export const personPath = (userSub: string): string => href("/console/person", { sub: userSub });
export const toolPath = (tool: string): string => href("/console/tool", { name: tool });
/** In the query: a scope may be named `..`, which no path can hold. */
export const scopePath = (scope: string, version?: number): string =>
  href("/console/scope", { name: scope, version: version === undefined ? undefined : String(version) });

/** The random end of an id, which differs between neighbors; address and title have the whole id. */
export const shortId = (path: string, id: string): Markup =>
  html`<a href="${path}" title="${id}"><code class="id">…${id.slice(-8)}</code></a>`;

/** At hop 1 the caller is a person. */
export const caller = ({ hop, actingAgent }: Pick<DecisionRecord, "hop" | "actingAgent">): Markup =>
  hop === 1
    ? html`${link(personPath(actingAgent), actingAgent)} <span class="quiet">(person)</span>`
    : link(agentPath(actingAgent), actingAgent);

export const target = ({ target: name, targetKind }: Pick<DecisionRecord, "target" | "targetKind">): Markup =>
  targetKind === "agent" ? link(agentPath(name), name) : toolLink(name);

export const toolLink = (tool: string): Markup => link(toolPath(tool), html`<code>${tool}</code>`);
