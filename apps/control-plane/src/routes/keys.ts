import { issuerEpoch, issuerKeyPage, keyRotate, keyRotation, pagedQuery, reasonRequest } from "@svc/core";
import { raiseIssuerEpoch, removeKey, rotateKey } from "../commands/issuer-keys.ts";
import { ApiError } from "../http/api-error.ts";
import { type App, routesOf } from "../http/routes.ts";
import { withTimes } from "../http/times.ts";
import type { KeyFacts } from "../ports/issuer-keys.ts";
import type { Deps } from "./deps.ts";

export function keyRoutes(app: App, deps: Deps): void {
  const { route, list } = routesOf(app, deps, "Issuer keys");
  list("GET /v1/keys", {
    access: "admin",
    summary: "List the keys that are published, oldest first.",
    query: pagedQuery,
    page: issuerKeyPage,
    rows: async ({ after, limit }) => {
      const published = (await deps.issuerKeys.recheck()).keys;
      const start = published.findIndex(({ kid }) => kid === after) + 1;
      return published.slice(start, start + limit);
    },
    item: (key) => ({ ...withTimes(key), status: statusOf(key, deps.clock.nowMs()) }),
    position: ({ kid }) => kid,
  });

  route("POST /v1/keys/rotate", {
    access: "admin",
    summary: "Publish the key that signs in ten minutes, or at once.",
    body: keyRotate,
    bodyOptional: true,
    reply: { description: "The key that signs next, and from when on.", schema: keyRotation },
    errors: ["issuer_key_configured", "database_unavailable"],
    handle: async ({ caller, body: { now } }) => {
      const rotated = await rotateKey(deps, { now, actor: caller.label });
      if (rotated.kind === "configured") throw keyConfigured();
      if (rotated.kind === "rotated") deps.events.administered("key_rotated");
      return withTimes(rotated);
    },
  });

  route("DELETE /v1/keys/{kid}", {
    access: "admin",
    summary: "Refuse at once whatever a key signed; the next one signs from then on.",
    reply: { status: 204, description: "Removed, now or before." },
    errors: ["key_not_found", "issuer_key_configured", "database_unavailable"],
    handle: async ({ caller, params: { kid } }) => {
      const { kind } = await removeKey(deps, { kid, actor: caller.label });
      if (kind === "configured") throw keyConfigured();
      if (kind === "key_not_found") throw new ApiError("key_not_found", "There is no such key.");
      if (kind === "removed") deps.events.administered("key_removed");
    },
  });

  route("POST /v1/issuer-epoch", {
    access: "admin",
    summary: "After a restore: refuse every token issued before, replace every key, end every session.",
    body: reasonRequest,
    bodyOptional: true,
    reply: { description: "The new epoch.", schema: issuerEpoch },
    errors: ["database_unavailable"],
    handle: async ({ caller, body: { reason = null } }) => {
      const raised = await raiseIssuerEpoch(deps, reason, caller.label);
      deps.events.administered("issuer_epoch_raised");
      return withTimes(raised);
    },
  });
}

const keyConfigured = (): ApiError =>
  new ApiError("issuer_key_configured", "The key is that of SVC_ISSUER_PRIVATE_KEY: replace it there and restart.");

function statusOf({ activatesAtMs, supersededAtMs }: KeyFacts, nowMs: number): "next" | "active" | "superseded" {
  if (activatesAtMs !== null && activatesAtMs > nowMs) return "next";
  return supersededAtMs !== null && supersededAtMs <= nowMs ? "superseded" : "active";
}
