import type { ConsolePorts, ConsoleReads, Listed, Query } from "@svc/console";
import { fromWire, namedScopeQuery, pagedQuery, policySchemaVersion, userSub } from "@svc/core";
import type { Hono } from "hono";
import type { z } from "zod";
import { isUuid } from "../commands/identifier.ts";
import { failingProbes } from "../commands/readiness.ts";
import { explainAction, readChain, readEvidence } from "../commands/record.ts";
import { ApiError, invalidRequest } from "../http/api-error.ts";
import { rateLimited } from "../http/authentication.ts";
import { reported } from "../http/error-handling.ts";
import { readForm } from "../http/form.ts";
import { type Paging, readPage } from "../http/page.ts";
import { decodeQuery, readQuery } from "../http/query.ts";
import type { App, PagedRead } from "../http/routes.ts";
import { consolePeople } from "../people/console-people.ts";
import { agentReads } from "./agents.ts";
import { decisionReads, eventReads, wouldBlockReads } from "./audit.ts";
import type { Deps } from "./deps.ts";
import { scopeReads } from "./manifests.ts";
import { sessionReads } from "./sessions.ts";

/** The read-only pages at `/console`. Loaded at the first request: most processes never show one. */
export function consoleRoutes(app: App, deps: Deps): void {
  let loading: Promise<Hono> | undefined;
  const load = async (): Promise<Hono> => {
    const { createConsole } = await import("@svc/console");
    return createConsole(consolePorts(deps));
  };
  const answer = async (request: Request): Promise<Response> => {
    loading ??= load();
    return (await loading).fetch(request);
  };
  app.all("/console", (c) => answer(c.req.raw));
  app.all("/console/*", (c) => answer(c.req.raw));
}

const consolePorts = (deps: Deps): ConsolePorts => ({
  reads: consoleReads(deps),
  clock: deps.clock,
  version: deps.version,
  issuer: deps.issuer,
  traceUrl: deps.traceUrl,
  signIn: deps.console,
  people: deps.people && consolePeople({ ...deps, people: deps.people }),
  viewerOf(token) {
    try {
      return deps.bearers("audit", `Bearer ${token}`);
    } catch (error) {
      if (error instanceof ApiError && error.code === "unauthorized") return undefined;
      throw error;
    }
  },
  async countCall(viewer) {
    const waitSeconds = await deps.limits.bearer(viewer);
    if (waitSeconds > 0) throw rateLimited(waitSeconds);
  },
  readQuery,
  async readForm(request) {
    const form = await readForm(request);
    if (!form.ok) throw invalidRequest(form.description);
    return form.fields;
  },
  refusalOf: (thrown) => reported(thrown, deps.events.requestFailed),
});

const versionsShown = 10;
const scopesShown = 50;

/** The console's reads over the ports of the audit routes. */
function consoleReads(deps: Deps): ConsoleReads {
  const list =
    <Schema extends z.ZodObject, Row>(path: string, { query: schema, rows, position }: PagedRead<Schema, Row>) =>
    async (sent: Query, pageSize?: number): Promise<Listed<Row>> => {
      const decoded = decodeQuery(sent, schema);
      const paging = { ...(decoded as unknown as Paging), ...(pageSize && { limit: pageSize }) };
      const query = fromWire(schema, decoded);
      const read = (at: { after: string | undefined; limit: number }) => rows({ query, caller: undefined, ...at });
      const { page, ...found } = await readPage(deps.cursorKey, path, sent, paging, read, position);
      return { ...found, nextCursor: page.nextCursor };
    };
  return {
    decisions: list("/console/decisions", decisionReads(deps)),
    search: (text, newest) => search(deps, text, newest),
    countDecisions: (count) => deps.audit.countDecisions(count),
    countCalls: (calls) => deps.audit.countCalls(calls),
    countPeople: (calls) => deps.audit.countPeople(calls),
    observedByScope: (kinds) => deps.audit.observedByScope(kinds),
    wouldBlocks: list("/console/would-block", wouldBlockReads(deps)),
    async action(actionId) {
      const [explained, read] = await Promise.all([explainAction(deps, actionId), readChain(deps, actionId)]);
      return explained && read && { ...explained, ...read };
    },
    sessions: list("/console/sessions", sessionReads(deps)),
    session: async (id) => (isUuid(id) ? deps.sessions.read(id, deps.clock.nowMs()) : undefined),
    sessionTotals: (id, newest) => deps.audit.sessionTotals(id, newest),
    sessionFamily: (id, limit) => deps.audit.sessionFamily(id, { nowMs: deps.clock.nowMs(), limit }),
    evidence: (actionId) => readEvidence(deps, actionId),
    agents: list("/console/agents", agentReads(deps)),
    agent: (name) => deps.identities.byName(name),
    manifestVersions: ({ agentId }, query) => {
      const versions = list(`/console/agents/${agentId}`, {
        query: pagedQuery,
        rows: ({ after, limit }) =>
          deps.audit.versions({ agentId, after: after === undefined ? undefined : Number(after), limit }),
        position: ({ version }) => String(version),
      });
      return versions(query, versionsShown);
    },
    acceptedManifests: (agents) => deps.audit.acceptedManifests(agents),
    scopes: list("/console/scopes", scopeReads(deps)),
    async policy(query) {
      const { name: scope, version: asked } = decodeQuery(query, namedScopeQuery);
      const latest = await deps.policies.latest(scope);
      if (latest === undefined) return undefined;
      const version = asked ?? latest.version;
      const pinned = await deps.policies.pinned(scope, version);
      return { scope, latestVersion: latest.version, version, document: pinned?.policy.document };
    },
    policiesOfAgent: async (agent) => (await deps.policies.currentOf([agent])).map(({ policy }) => policy),
    async policiesOfTool(tool) {
      const scopes = await deps.audit.scopesOfTool(tool, scopesShown);
      const current = scopes.filter(({ schemaVersion }) => schemaVersion === policySchemaVersion);
      const found = await Promise.all(current.map(({ scope, version }) => deps.policies.pinned(scope, version)));
      return found.flatMap((index) => index?.policy ?? []);
    },
    definitionTexts: (hashes) => deps.manifests.definitionTexts(hashes),
    blocks: (limit) => deps.blocks.page({ nowMs: deps.clock.nowMs(), after: undefined, limit }),
    async blocksOf(kind, refs) {
      const found = await Promise.all(refs.map((ref) => deps.blocks.find({ kind, ref }, deps.clock.nowMs())));
      return found.flatMap((block) => block ?? []);
    },
    revokedAgents: list("/console/denials", {
      query: pagedQuery,
      rows: ({ after, limit }) => deps.audit.events({ kind: "agent_revoked", after, limit }),
      position: ({ eventId }) => eventId,
    }),
    revokedSessions: (limit) => deps.audit.events({ kind: "session_revoked", after: undefined, limit }),
    events: list("/console/events", eventReads(deps)),
    countActiveSessions: (most) => deps.audit.countRunning({ nowMs: deps.clock.nowMs(), most }),
    sealState: async (most) => ({ ...(await deps.audit.sealState(most)), oldestUnsealedMs: deps.oldestUnsealedMs() }),
    failingChecks: () => failingProbes(deps.probes),
  };
}

/** The end of an identifier as pages show it, or more of it. */
const endOfId = /^[0-9a-f]{4,12}$/;

async function search({ audit }: Deps, typed: string, newest: number) {
  const id = typed.replace(/^…/, "").toLowerCase();
  if (isUuid(id)) return audit.findId({ id, isWhole: true, newest });
  const [byEnd, byName] = await Promise.all([
    endOfId.test(id) ? audit.findId({ id, isWhole: false, newest }) : [],
    userSub.safeParse(typed).success ? audit.findName({ text: typed, newest }) : [],
  ]);
  return [...byEnd, ...byName];
}
