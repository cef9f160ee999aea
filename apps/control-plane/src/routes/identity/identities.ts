import { agentIdentity, revokeAgentRequest } from "@svc/core";
import { toJwks } from "@svc/tokens";
import { etag } from "hono/etag";
import { isUuid } from "../../commands/identifier.ts";
import { revokeAgent } from "../../commands/identity/revoke-agent.ts";
import type { App } from "../../http/endpoint.ts";
import { mount } from "../../http/mount.ts";
import type { AgentIdentity } from "../../ports/identities.ts";
import type { Deps } from "../deps.ts";
import { agentNotFound } from "./agent-not-found.ts";
import { revocationsRoute } from "./revocations.ts";

const tag = "Identity";
const agents = "/v1/identity/agents";

const replies = {
  200: { description: "The identity, with an ETag.", schema: agentIdentity },
  304: { description: "It is the one that `If-None-Match` names." },
};

/** A reader may keep an identity to ask whether it changed, never to go by it. */
const revalidated = { "Cache-Control": "private, no-cache" };

export function identityRoutes(app: App, deps: Deps): void {
  app.use(`${agents}/*`, etag());
  mount(
    app,
    deps,
    {
      method: "get",
      path: `${agents}/{name}`,
      access: "identity",
      tag,
      summary: "Read an agent's pinned identity by its name.",
      replies,
      errors: ["agent_not_found", "database_unavailable"],
    },
    async ({ c, params: { name } }) => c.json(toRead(await deps.identities.byName(name)), 200, revalidated),
  );

  mount(
    app,
    deps,
    {
      method: "get",
      path: `${agents}/by-id/{agent_id}`,
      access: "identity",
      tag,
      summary: "Read an agent's pinned identity by its id.",
      replies,
      errors: ["agent_not_found", "database_unavailable"],
    },
    async ({ c, params: { agent_id: agentId } }) => {
      const found = isUuid(agentId) ? await deps.identities.byId(agentId) : undefined;
      return c.json(toRead(found), 200, revalidated);
    },
  );

  revocationsRoute(app, deps);

  mount(
    app,
    deps,
    {
      method: "post",
      path: "/v1/agents/{agent_id}/revoke",
      access: "admin",
      tag,
      summary: "Revoke an agent for good, and with it every chain it is in.",
      body: revokeAgentRequest,
      bodyOptional: true,
      replies: { 200: { description: "The identity as it stands now.", schema: agentIdentity } },
      errors: ["agent_not_found", "database_unavailable"],
    },
    async ({ c, caller, params: { agent_id: agentId }, body }) => {
      const revoked = await revokeAgent(deps, { agentId, reason: body.reason, revokedBy: caller.label });
      if (revoked?.isNew) deps.events.agentRevoked();
      return c.json(toRead(revoked?.identity));
    },
  );
}

/** @throws {ApiError} `agent_not_found`. */
function toRead(found: AgentIdentity | undefined) {
  if (found === undefined) throw agentNotFound();
  return {
    agent_id: found.agentId,
    agent: found.agent,
    status: found.status,
    anchor_version: found.anchorVersion,
    jwks: toJwks(found.keys),
    revoked: found.status === "revoked",
    revoked_reason: found.revokedReason,
    as_of: new Date(found.asOfMs).toISOString(),
  };
}
