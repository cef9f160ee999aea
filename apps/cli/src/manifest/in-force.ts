import type { ManifestRead, ReconciliationReport } from "@svc/client";
import { absentBy, type ControlPlane } from "../control-plane.ts";
import { shown } from "../output.ts";

export type InForce = ReconciliationReport["inForce"];

/** The report of an agent's newest version; undefined where the agent is not registered. */
export const newestReport = (plane: ControlPlane, agent: string): Promise<ReconciliationReport | undefined> =>
  plane
    .call("admin", async ({ admin }) => admin.reconciliation(await admin.agentId(agent)))
    .catch(absentBy("agent_not_found"));

/** A version of an agent, by one of the scopes that it touches. */
export function versionOf(
  plane: ControlPlane,
  agent: string,
  { version, scopes }: { readonly version: number; readonly scopes: readonly string[] },
): Promise<ManifestRead> {
  // No path can hold these two.
  const scope = scopes.find((name) => name !== "." && name !== "..") ?? "";
  return plane.call("admin", ({ admin }) => admin.manifest(scope, { agent, version }));
}

/** One line: which version counts after the command. */
export const inForceText = (
  agent: string,
  inForce: Pick<NonNullable<InForce>, "version" | "status"> | null | undefined,
) =>
  inForce
    ? `In force: ${shown(agent)} version ${inForce.version}, ${inForce.status}.`
    : `In force: no version of ${shown(agent)}.`;
