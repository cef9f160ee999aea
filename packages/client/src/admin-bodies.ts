import { diffKinds, manifestStatuses } from "@svc/core";
import { z } from "zod";

/** Answers of the admin plane, out of their wire spelling. */

export const registration = z
  .object({ agent_id: z.string(), manifest_version: z.int(), status: z.enum(manifestStatuses) })
  .transform((body) => ({
    agentId: body.agent_id,
    manifestVersion: body.manifest_version,
    status: body.status,
  }));
/** An accepted manifest version. `attested`: accepted by an override. */
export type AgentRegistration = Readonly<z.output<typeof registration>>;

export const manifestRead = z
  .object({
    agent: z.string(),
    version: z.int(),
    status: z.enum(manifestStatuses),
    attested_by: z.string().nullable(),
    created_at: z.string(),
    doc: z.record(z.string(), z.unknown()),
  })
  .transform(({ attested_by, created_at, ...same }) => ({ ...same, attestedBy: attested_by, createdAt: created_at }));
/** A manifest version; `doc` as it was submitted, in wire spelling, `createdAt` in ISO 8601. */
export type ManifestRead = Readonly<z.output<typeof manifestRead>>;

export const agentListItem = z
  .object({
    id: z.string(),
    name: z.string(),
    latest_manifest_version: z.int(),
    latest_status: z.enum(manifestStatuses),
  })
  .transform((row) => ({
    id: row.id,
    name: row.name,
    latestManifestVersion: row.latest_manifest_version,
    latestStatus: row.latest_status,
  }));
/** One agent, and how its latest submission fared. */
export type AgentListItem = Readonly<z.output<typeof agentListItem>>;

export const resolvedAgent = z.object({ agent_id: z.string(), name: z.string() });

const diffEntry = z.object({
  ref: z.string(),
  kind: z.enum(diffKinds),
  field: z.string(),
  declared: z.unknown(),
  discovered: z.unknown(),
  remedy: z.string(),
});
export const diffEntries = z.array(diffEntry);

export const reconciliationReport = z
  .object({
    manifest_version: z.int(),
    status: z.enum(manifestStatuses),
    discovery_ok: z.boolean(),
    diff: diffEntries,
    attestation: z.object({ by: z.string(), reason: z.string().nullable() }).nullable(),
    checked_at: z.string(),
  })
  .transform((report) => ({
    manifestVersion: report.manifest_version,
    status: report.status,
    discoveryOk: report.discovery_ok,
    diff: report.diff,
    attestation: report.attestation,
    checkedAt: report.checked_at,
  }));
/** The outcome of an agent's most recent submission; `checkedAt` in ISO 8601. */
export type ReconciliationReport = Readonly<z.output<typeof reconciliationReport>>;

export const scopeCatalog = z
  .object({
    scope: z.string(),
    version: z.int(),
    tools: z.array(z.object({ ref: z.string(), data_classes: z.array(z.string()), privileged: z.boolean() })),
    data_classes: z.object({ reads: z.array(z.string()), writes: z.array(z.string()) }),
    downstream_agents: z.array(z.string()),
    hop_budget: z.int(),
  })
  .transform((catalog) => ({
    scope: catalog.scope,
    version: catalog.version,
    tools: catalog.tools.map(({ ref, data_classes, privileged }) => ({ ref, dataClasses: data_classes, privileged })),
    dataClasses: catalog.data_classes,
    downstreamAgents: catalog.downstream_agents,
    hopBudget: catalog.hop_budget,
  }));
/** What consenting to a scope grants. */
export type ScopeCatalog = Readonly<z.output<typeof scopeCatalog>>;
