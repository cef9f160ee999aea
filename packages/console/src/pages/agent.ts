import type { StandingBlock } from "@svc/core";
import { html } from "hono/html";
import { barChart } from "../bar-chart.ts";
import { reasonTable } from "../calls.ts";
import { notFoundPage } from "../failure-page.ts";
import { forceNotice, inForce, versionSection } from "../manifest-versions.ts";
import { badge, codes, count, facts, href, link, type Markup, time } from "../markup.ts";
import { callerTable, targetTable } from "../neighbors.ts";
import { agentPath } from "../places.ts";
import type { AgentIdentity, ConsolePorts, Query } from "../ports.ts";
import { pager, table } from "../table.ts";
import { overTime, readTally } from "../tally.ts";
import type { Page } from "../view.ts";
import { yesNo } from "../words.ts";
import { agentsPath } from "./agents.ts";
import { blockTable } from "./denials.ts";
import { eventsPath } from "./events.ts";
import { sessionColumns } from "./sessions.ts";

const dayMs = 86_400_000;
const countedDecisions = 10_000;
/** Of callers, which no index finds. */
const searchedDecisions = 30_000;
const shownSessions = 10;

export const agentPage: Page = {
  path: `${agentsPath}/:agent`,
  async render(ports, { params, query, offer }) {
    const agent = params.agent ?? "";
    const identity = await ports.reads.agent(agent);
    if (identity === undefined) return notFoundPage("agent", agentsPath, "the agents");
    const { versions, policies, tally, calls, callers, sessions, blocks } = await readAgent(ports, identity, query);
    const isFirst = query.cursor === undefined;
    return {
      title: agent,
      section: "Agents",
      body: html`${identityFacts(identity, blocks, isFirst ? inForce(versions.rows)?.version : undefined)}
${offer(
  identity.status !== "revoked" && { act: "revoke_agent", ref: agent },
  identity.status === "quarantined" && { act: "lift_quarantine", ref: agent },
  blocks.length === 0 && { act: "set_block", kind: "agent", ref: agent },
)}
<p>${link(href("/console/decisions", { agent }), "Its decisions")} · ${link(href("/console/sessions", { agent }), "Sessions with a delegation to it")} · ${link(href(eventsPath, { agent }), "Events about it")} · ${link(href("/console/map", { agent }), "Map around it")}</p>
${blocks.length > 0 && html`<section><h2>Emergency blocks</h2>${blockTable(blocks, offer)}</section>`}
<section><h2>Activity in the last 24 hours</h2>
${barChart(overTime(tally))}
${tally.isCut && html`<p class="quiet">Only its newest ${count(countedDecisions)} decisions are counted, from ${time(tally.sinceMs)} on.</p>`}</section>
<section><h2>Tools and agents that it calls</h2>${targetTable(agent, policies, calls)}</section>
<section><h2>Callers</h2>${callerTable(agent, policies, callers)}
<p class="quiet">Callers are counted among the newest ${count(searchedDecisions)} decisions.</p></section>
<section><h2>Deny reasons</h2>${reasonTable(calls, { agent })}</section>
<section><h2>Sessions now</h2>
${table({
  caption: "Active, with a delegation to it",
  columns: sessionColumns.filter(({ head }) => head !== "Status" && head !== "Policy"),
  rows: sessions.rows,
  whenEmpty: "No active session has a delegation to it.",
})}
${sessions.next && html`<p>${link(href("/console/sessions", { agent, status: "active" }), "All active sessions")}</p>`}</section>
<section><h2>Manifest versions</h2>
${isFirst && forceNotice(versions.rows)}
${versions.rows.map((version, index) => versionSection(version, versions.rows[index + 1] ?? versions.next))}
${pager(agentPath(agent), query, versions)}</section>`,
    };
  },
};

async function readAgent({ reads, clock }: ConsolePorts, identity: AgentIdentity, query: Query) {
  const { agent } = identity;
  const sinceMs = clock.nowMs() - dayMs;
  const [versions, policies, tally, calls, callers, sessions, blocks] = await Promise.all([
    reads.manifestVersions(identity, query),
    reads.policiesOfAgent(agent),
    readTally({ reads, clock }, dayMs, { newest: countedDecisions, of: { agent } }),
    reads.countCalls({ sinceMs, newest: countedDecisions, of: { agent } }),
    reads.countCalls({ sinceMs, newest: searchedDecisions, of: { target: agent } }),
    reads.sessions({ agent, status: "active" }, shownSessions),
    reads.blocksOf("agent", [agent]),
  ]);
  return { versions, policies, tally, calls, callers, sessions, blocks };
}

const identityTones = { none: "neutral", enrolled: "allow", quarantined: "observe", revoked: "deny" } as const;

const identityFacts = (
  { agentId, status, anchorVersion, keys, revokedReason, asOfMs }: AgentIdentity,
  blocks: readonly StandingBlock[],
  version: number | undefined,
): Markup =>
  facts([
    ["Revoked?", yesNo(status === "revoked")],
    ["Blocked?", yesNo(blocks.length > 0)],
    ["Identity", status === "none" ? "not enrolled" : badge(identityTones[status], status)],
    ["Manifest", version !== undefined && html`version ${version} in force`],
    ["Keys", keys.length > 0 && codes(keys.map(({ kid }) => kid))],
    ["Anchor version", anchorVersion > 0 && anchorVersion],
    ["Reason", revokedReason],
    ["Changed", status !== "none" && time(asOfMs)],
    ["Id", html`<code>${agentId}</code>`],
  ]);
