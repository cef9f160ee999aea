import { absentBy, type ControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { nearestOf } from "../manifest/differences.ts";
import { shown } from "../output.ts";
import { scopeNames } from "../scope-names.ts";
import { type Lending, severalAgents } from "./session.ts";

type Wanted = Pick<Lending, "scope" | "agent">;

/**
 * The agent that will act, found before a consent, which a person would have to take back. Undefined where only the
 * session can tell: a control plane of before names no entry agents.
 * @throws {Fault} where the scope has no policy, or no one entry agent is meant
 */
export async function requireEntryAgent(plane: ControlPlane, { scope, agent }: Wanted): Promise<string | undefined> {
  const catalog = await plane.call("admin", (svc) => svc.admin.scopeCatalog(scope)).catch(absentBy("scope_not_found"));
  if (catalog === undefined) throw await unknownScope(plane, scope);
  const { entryAgents } = catalog;
  if (agent !== undefined) {
    if (entryAgents.length === 0 || entryAgents.includes(agent)) return agent;
    const advice = `Choose one: --agent ${entryAgents.map(shown).join(", ")}. svc manifest submit registers another.`;
    throw new Fault(`${shown(agent)} is no entry agent of scope "${shown(scope)}"`, advice);
  }
  const [only, ...others] = entryAgents.length < 2 ? entryAgents : await inGoodStanding(plane, entryAgents);
  if (others.length === 0) return only;
  throw severalAgents(scope, [only ?? "", ...others]);
}

async function unknownScope(plane: ControlPlane, scope: string): Promise<Fault> {
  const meant = (await nearestOf(await scopeNames(plane)))(scope);
  const hint = meant === undefined ? "" : `; did you mean ${shown(meant)}?`;
  return new Fault(
    `there is no scope "${shown(scope)}"${hint}`,
    "svc scopes list shows the scopes: a manifest that names one makes it.",
  );
}

/** A revoked agent stays declared. */
async function inGoodStanding(plane: ControlPlane, agents: readonly string[]): Promise<readonly string[]> {
  const identities = await Promise.all(agents.map((agent) => plane.call("identity", (svc) => svc.identity.of(agent))));
  return agents.filter((_, index) => !["revoked", "quarantined"].includes(identities[index]?.status ?? ""));
}
