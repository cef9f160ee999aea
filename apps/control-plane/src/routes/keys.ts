import {
  issuerEpoch,
  type issuerKey,
  issuerKeyPage,
  keyRotate,
  keyRotation,
  pagedQuery,
  reasonRequest,
} from "@svc/core";
import type { z } from "zod";
import { raiseIssuerEpoch } from "../commands/key/raise-issuer-epoch.ts";
import { removeKey } from "../commands/key/remove-key.ts";
import { rotateKey } from "../commands/key/rotate-key.ts";
import { ApiError } from "../http/api-error.ts";
import type { App } from "../http/endpoint.ts";
import { mount } from "../http/mount.ts";
import { openPage, toPage } from "../http/page.ts";
import type { KeyFacts } from "../ports/issuer-keys.ts";
import type { Deps } from "./deps.ts";

const tag = "Issuer keys";
const keys = "/v1/keys";

export function keyRoutes(app: App, deps: Deps): void {
  mount(
    app,
    deps,
    {
      method: "get",
      path: keys,
      access: "admin",
      tag,
      summary: "List the keys that are published, oldest first.",
      query: pagedQuery,
      replies: { 200: { description: "One page.", schema: issuerKeyPage } },
      errors: ["database_unavailable"],
    },
    async ({ c, query, rawQuery }) => {
      const asked = openPage(deps.cursorKey, keys, rawQuery, query);
      const published = (await deps.issuerKeys.recheck()).keys;
      const start = published.findIndex(({ kid }) => kid === asked.after) + 1;
      const nowMs = deps.clock.nowMs();
      const rows = published.slice(start, start + asked.limit + 1);
      return c.json(
        toPage(
          deps.cursorKey,
          asked,
          rows,
          (key) => toRead(key, nowMs),
          ({ kid }) => kid,
        ),
      );
    },
  );

  mount(
    app,
    deps,
    {
      method: "post",
      path: `${keys}/rotate`,
      access: "admin",
      tag,
      summary: "Publish the key that signs in ten minutes, or at once.",
      body: keyRotate,
      bodyOptional: true,
      replies: { 200: { description: "The key that signs next, and from when on.", schema: keyRotation } },
      errors: ["issuer_key_configured", "database_unavailable"],
    },
    async ({ c, caller, body: { now } }) => {
      const rotated = await rotateKey(deps, { now, actor: caller.label });
      if (rotated.kind === "configured") throw keyConfigured();
      if (rotated.kind === "rotated") deps.events.administered("key_rotated");
      return c.json({ kid: rotated.kid, activates_at: new Date(rotated.activatesAtMs).toISOString() });
    },
  );

  mount(
    app,
    deps,
    {
      method: "delete",
      path: `${keys}/{kid}`,
      access: "admin",
      tag,
      summary: "Refuse at once whatever a key signed; the next one signs from then on.",
      replies: { 204: { description: "Removed, now or before." } },
      errors: ["key_not_found", "issuer_key_configured", "database_unavailable"],
    },
    async ({ c, caller, params: { kid } }) => {
      const { kind } = await removeKey(deps, { kid, actor: caller.label });
      if (kind === "configured") throw keyConfigured();
      if (kind === "key_not_found") throw new ApiError("key_not_found", "There is no such key.");
      if (kind === "removed") deps.events.administered("key_removed");
      return c.body(null, 204);
    },
  );

  mount(
    app,
    deps,
    {
      method: "post",
      path: "/v1/issuer-epoch",
      access: "admin",
      tag,
      summary: "After a restore: refuse every token issued before, replace every key, end every session.",
      body: reasonRequest,
      bodyOptional: true,
      replies: { 200: { description: "The new epoch.", schema: issuerEpoch } },
      errors: ["database_unavailable"],
    },
    async ({ c, caller, body }) => {
      const raised = await raiseIssuerEpoch(deps, { reason: body.reason ?? null, actor: caller.label });
      deps.events.administered("issuer_epoch_raised");
      return c.json({
        not_before: new Date(raised.notBeforeMs).toISOString(),
        kid: raised.kid,
        revoked: raised.ended,
      });
    },
  );
}

const keyConfigured = (): ApiError =>
  new ApiError("issuer_key_configured", "The key is that of SVC_ISSUER_PRIVATE_KEY: replace it there and restart.");

const toRead = (key: KeyFacts, nowMs: number): z.input<typeof issuerKey> => ({
  kid: key.kid,
  status: statusOf(key, nowMs),
  created_at: toTimestamp(key.createdAtMs),
  activates_at: toTimestamp(key.activatesAtMs),
  superseded_at: toTimestamp(key.supersededAtMs),
});

function statusOf({ activatesAtMs, supersededAtMs }: KeyFacts, nowMs: number): "next" | "active" | "superseded" {
  if (activatesAtMs !== null && activatesAtMs > nowMs) return "next";
  return supersededAtMs !== null && supersededAtMs <= nowMs ? "superseded" : "active";
}

const toTimestamp = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());
