import { z } from "zod";
import { definitionMembers } from "../definitions.ts";
import { blockKinds, manifestStatuses, sessionStatuses } from "../kinds.ts";
import { agentManifest, discoveryKinds } from "../manifest.ts";
import { agentName, scopeName, sentence, toolRef, userSub } from "../names.ts";
import { diffKinds, discoveryCredentials } from "../reconcile.ts";
import { instant, jwt, page, pageQuery, reasonRequest, timestamp, version } from "./parts.ts";

/** Bodies and queries of the admin plane. */

export const consentRequest = z
  .strictObject({
    scope: scopeName,
    user_sub: userSub,
    ttl_seconds: z.int().min(60).max(86_400).optional(),
    policy_version: z.int().min(1).optional(),
  })
  .meta({ id: "ConsentCreate" });

export const consentResponse = z
  .object({
    session_id: z.string(),
    root_grant: jwt,
    policy_version: z.int(),
    scope: z.string(),
    user_sub: z.string(),
    hop_budget: z.int(),
    expires_at: z.string(),
  })
  .meta({ id: "ConsentRead" });
export type ConsentResponse = z.output<typeof consentResponse>;

const submission = {
  manifest: agentManifest.describe("What the agent may do."),
  override: reasonRequest.optional().describe("A person attests what discovery cannot confirm, with a reason."),
};

/** An agent's first manifest. */
export const agentCreate = z.strictObject({ name: agentName, ...submission }).meta({ id: "AgentCreate" });

/** A further manifest version of a registered agent. */
export const manifestCreate = z
  .strictObject({ agent: agentName.describe("The agent's name."), ...submission })
  .meta({ id: "ManifestCreate" });

export const agentRegistration = z
  .object({ agent_id: z.string(), manifest_version: z.int(), status: z.enum(manifestStatuses) })
  .meta({ id: "AgentRegistration" });

export const agentsQuery = z.strictObject({ ...pageQuery, status: z.enum(manifestStatuses).optional() });

export const agentListItem = z
  .object({
    id: z.string(),
    name: z.string(),
    latest_manifest_version: z.int(),
    latest_status: z.enum(manifestStatuses),
  })
  .meta({ id: "AgentListItem" });
export const agentPage = page(agentListItem);

export const resolveAgentQuery = z.strictObject({ name: agentName });
export const resolvedAgent = z.object({ agent_id: z.string(), name: z.string() });

export const diffEntry = z
  .object({
    ref: z.string(),
    kind: z.enum(diffKinds),
    field: z.string(),
    declared: z.unknown(),
    discovered: z.unknown(),
    remedy: z.string(),
  })
  .meta({ id: "DiffEntry" });

export const discoveryRead = z
  .object({
    kind: z.enum(discoveryKinds),
    name: z.string().nullable(),
    origin: z.string(),
    ok: z.boolean(),
    credentials: z.enum(discoveryCredentials).meta({
      description: "`sent`: the configured one was sent. `required`: the source answered 401 or 403.",
    }),
    protocol_version: z.string().nullable().meta({ description: "Of an MCP server that was reached." }),
    pages: z.int().nullable().meta({ description: "How many pages of an MCP server's tools were read." }),
  })
  .meta({ id: "DiscoveryRead" });

export const changedDefinition = z
  .object({
    ref: z.string(),
    changed: z.array(z.enum(definitionMembers)),
    before: z.string().nullable(),
    now: z.string().nullable(),
  })
  .meta({ id: "ChangedDefinition" });

/** What a reconciliation found. */
const reconciled = {
  status: z.enum(manifestStatuses),
  discovery_ok: z.boolean(),
  diff: z.array(diffEntry),
  discovery: z
    .array(discoveryRead)
    .default([])
    .meta({ description: "How each source was read. Empty before this was recorded." }),
  definitions: z.array(changedDefinition).default([]).meta({
    description:
      "MCP tools whose definition differs from the one of the accepted version before, 100 at most: the canonical forms.",
  }),
};

/** What a submission would find now; nothing is stored. */
export const manifestPreview = z.object(reconciled).meta({ id: "ManifestPreview" });

export const reconciliationReport = z
  .object({
    manifest_version: z.int(),
    ...reconciled,
    attestation: z.object({ by: z.string(), reason: z.string().nullable() }).nullable(),
    checked_at: timestamp,
    scopes: z.array(z.string()).default([]).meta({ description: "The scopes that this version touches." }),
    in_force: z
      .object({ version: z.int(), status: z.enum(manifestStatuses), scopes: z.array(z.string()) })
      .nullable()
      .default(null)
      .meta({ description: "The newest accepted version; null where none was accepted." }),
  })
  .meta({ id: "ReconciliationReport" });

export const manifestQuery = z.strictObject({ version, agent: agentName.optional() });

export const manifestRead = z
  .object({
    agent: z.string(),
    version: z.int(),
    status: z.enum(manifestStatuses),
    attested_by: z.string().nullable(),
    created_at: timestamp,
    doc: z.record(z.string(), z.unknown()).meta({ description: "The manifest exactly as submitted." }),
  })
  .meta({ id: "ManifestRead" });

/** Of the console: `name` is in the query, since a scope may be named `..`, which no path can hold. */
export const namedScopeQuery = z.strictObject({ name: scopeName, version });

export const scopeCatalogQuery = z.strictObject({ version });

export const scopeCatalog = z
  .object({
    scope: z.string(),
    version: z.int(),
    tools: z.array(z.object({ ref: z.string(), data_classes: z.array(z.string()), privileged: z.boolean() })),
    data_classes: z.object({ reads: z.array(z.string()), writes: z.array(z.string()) }),
    entry_agents: z
      .array(z.string())
      .default([])
      .meta({ description: "Agents that a person delegates to, the first hop. Empty from a service of before." }),
    downstream_agents: z.array(z.string()),
    hop_budget: z.int(),
  })
  .meta({ id: "ScopeCatalog" });

/** Which sessions; every filter must hold. */
export const sessionFilters = {
  user_sub: userSub.optional(),
  scope: scopeName.optional(),
  agent: agentName.optional().meta({ description: "An agent that was delegated to in the session." }),
  status: z.enum(sessionStatuses).optional(),
};
const sessionFilterNames = Object.keys(sessionFilters) as (keyof typeof sessionFilters)[];

export const sessionsRevoke = z
  .strictObject({ ...sessionFilters, reason: sentence.optional() })
  .refine((body) => sessionFilterNames.some((name) => body[name] !== undefined), "must have at least one filter")
  .meta({ id: "SessionsRevoke" });
export const sessionsRevoked = z.object({ revoked: z.int() });

/** What may be blocked, and how it is named. No manifest need hold the name yet. */
export const blockRef = z.discriminatedUnion("kind", [
  z.object({ kind: z.literal("tool"), ref: toolRef }),
  z.object({ kind: z.literal("agent"), ref: agentName }),
  z.object({ kind: z.literal("scope"), ref: scopeName }),
]);

export const blockPut = z
  .strictObject({ reason: sentence, until: instant.nullable().optional() })
  .meta({ id: "BlockPut" });

export const blockRead = z
  .object({
    kind: z.enum(blockKinds),
    ref: z.string(),
    reason: z.string(),
    until: timestamp.nullable(),
    created_at: timestamp,
  })
  .meta({ id: "Block" });
export const blockPage = page(blockRead);

export const issuerKey = z
  .object({
    kid: z.string(),
    status: z
      .enum(["next", "active", "superseded"])
      .meta({ description: "`active` signs; `next` will; `superseded` signed what may still be valid." }),
    created_at: timestamp.nullable().meta({ description: "Null for a key of SVC_ISSUER_PRIVATE_KEY." }),
    activates_at: timestamp.nullable(),
    superseded_at: timestamp.nullable(),
  })
  .meta({ id: "IssuerKey" });
export const issuerKeyPage = page(issuerKey);

export const keyRotate = z.strictObject({ now: z.boolean().default(false) });
export const keyRotation = z.object({ kid: z.string(), activates_at: timestamp }).meta({ id: "KeyRotation" });

export const issuerEpoch = z
  .object({
    not_before: timestamp.meta({ description: "Tokens issued before are refused." }),
    kid: z.string().meta({ description: "The key that signs from now on." }),
    revoked: z.int().meta({ description: "How many sessions were ended." }),
  })
  .meta({ id: "IssuerEpoch" });
