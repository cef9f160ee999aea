import { agentIdentity, revokeAgentRequest } from "@svc/core";
import { toJwks } from "@svc/tokens";
import { etag } from "hono/etag";
import { isUuid } from "../../commands/identifier.ts";
import { revokeAgent } from "../../commands/identity/revoke-agent.ts";
import type { App } from "../../http/endpoint.ts";
import { routesOf } from "../../http/routes.ts";
import { withTimes } from "../../http/times.ts";
import type { AgentIdentity } from "../../ports/identities.ts";
import { agentNotFound } from "../agents.ts";
import type { Deps } from "../deps.ts";
import { revocationsRoute } from "./revocations.ts";

const read = {
  access: "identity",
  reply: { description: "The identity, with an ETag.", schema: agentIdentity },
  otherReplies: { 304: { description: "It is the one that `If-None-Match` names." } },
  /** A reader may keep an identity to find out whether it changed, never to decide by it. */
  headers: { "Cache-Control": "private, no-cache" },
  errors: ["agent_not_found", "database_unavailable"],
} as const;

export function identityRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Identity");
  app.use("/v1/identity/agents/*", etag());

  route("GET /v1/identity/agents/{name}", {
    ...read,
    summary: "Read an agent's pinned identity by its name.",
    handle: async ({ params: { name } }) => toAnswer(await deps.identities.byName(name)),
  });

  route("GET /v1/identity/agents/by-id/{agent_id}", {
    ...read,
    summary: "Read an agent's pinned identity by its id.",
    handle: async ({ params: { agentId } }) =>
      toAnswer(isUuid(agentId) ? await deps.identities.byId(agentId) : undefined),
  });

  revocationsRoute(app, deps);

  route("POST /v1/agents/{agent_id}/revoke", {
    access: "admin",
    summary: "Revoke an agent for good, and with it every chain it is in.",
    body: revokeAgentRequest,
    bodyOptional: true,
    reply: { description: "The identity, revoked.", schema: agentIdentity },
    errors: ["agent_not_found", "database_unavailable"],
    handle: async ({ caller, params: { agentId }, body: { reason } }) => {
      const revoked = await revokeAgent(deps, { agentId, reason, revokedBy: caller.label });
      if (revoked?.isNew) deps.events.agentRevoked();
      return toAnswer(revoked?.identity);
    },
  });
}

/** @throws {ApiError} `agent_not_found`. */
function toAnswer(found: AgentIdentity | undefined) {
  if (found === undefined) throw agentNotFound();
  return {
    ...withTimes(found),
    jwks: { keys: toJwks(found.keys).keys.map((key) => ({ ...key })) },
    revoked: found.status === "revoked",
  };
}
