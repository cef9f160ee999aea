import { absentBy, type ControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { shown } from "../output.ts";
import type { Lending } from "./session.ts";

/** Before a consent, which a person would have to take back. @throws {Fault} where the scope has no policy, or the agent no part in it */
export async function requireScope(plane: ControlPlane, { scope, agent }: Lending): Promise<void> {
  await plane.call("admin", (svc) => svc.admin.scopeCatalog(scope));
  if (agent === undefined) return;
  const declared = await plane
    .call("admin", (svc) => svc.admin.manifest(scope, { agent }))
    .catch(absentBy("agent_not_found", "manifest_version_not_found", "scope_not_found"));
  if (declared !== undefined) return;
  throw new Fault(
    `${shown(agent)} declares nothing in scope "${shown(scope)}"`,
    `svc agents list shows the registered agents: submit a manifest of ${shown(agent)}, or choose another with --agent.`,
  );
}
