import type { AgentIdentity, BlockRead, ManifestRead } from "@svc/client";
import type { AgentManifestDocument } from "@svc/core";
import { absentBy, type ControlPlane, type ControlPlaneFlags, openControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData } from "../formats.ts";
import { colors, print, printData, printTable, shown } from "../output.ts";

interface Shown {
  readonly identity: AgentIdentity;
  readonly blocks: readonly BlockRead[];
  /** The version in force; undefined where none was accepted. */
  readonly manifest: ManifestRead | undefined;
}

/** Everything about an agent that decides what it may do now. */
export async function showAgent(name: string, flags: ControlPlaneFlags & FormatFlags): Promise<void> {
  const found = await readAgent(openControlPlane(flags), name);
  const format = formatOf(flags);
  if (!isData(format)) return printAgent(name, found);
  const core = await import("@svc/core");
  const { identity, blocks, manifest } = found;
  await printData(
    {
      identity: core.toWire(core.agentIdentity, identity),
      blocks: blocks.map((block) => core.toWire(core.blockRead, block)),
      manifest: manifest === undefined ? null : core.toWire(core.manifestRead, manifest),
    },
    format,
  );
}

async function readAgent(plane: ControlPlane, name: string): Promise<Shown> {
  const identity = await plane.call("identity", (svc) => svc.identity.of(name));
  const blocks = await plane.all("audit", (svc, page) => svc.audit.blocks(page));
  const { data } = await plane.call("audit", (svc) => svc.audit.scopes({ agent: name, limit: 1 }));
  const [first] = data;
  const reading =
    first &&
    plane.call("admin", (svc) => svc.admin.manifest(first.scope, { agent: name })).catch(absentBy("scope_not_found"));
  return {
    identity,
    blocks: blocks.filter(({ kind, ref }) => kind === "agent" && ref === name),
    manifest: await reading,
  };
}

async function printAgent(name: string, { identity, blocks, manifest }: Shown): Promise<void> {
  print(`${colors.bold(shown(name))}  ${colors.dim(identity.agentId)}`);
  const keys = identity.jwks.keys.map(({ kid }) => ` with key ${kid}`).join("");
  print(`identity  ${identity.status === "none" ? "not enrolled" : identity.status}${keys}`);
  for (const { reason, until } of blocks) {
    print(`${colors.red("blocked")}   ${shown(reason)}${until === null ? "" : `, until ${until}`}`);
  }
  if (manifest === undefined) return print("manifest  none was accepted: svc manifest report has the reasons");
  print(`manifest  version ${manifest.version}, ${manifest.status}, ${manifest.createdAt}`);
  for (const [scope, declared] of Object.entries((manifest.doc as AgentManifestDocument).scopes)) {
    await printScope(scope, declared);
  }
}

async function printScope(scope: string, declared: AgentManifestDocument["scopes"][string]): Promise<void> {
  const { tools = [], downstream_agents: agents = [], hop_budget: hops } = declared;
  print(`\n${colors.bold(`scope ${shown(scope)}`)}, at most ${hops} hops`);
  if (agents.length > 0) print(`may delegate to ${agents.map(shown).join(", ")}`);
  const cells = tools.map(({ ref, data_classes, access = "read", privileged = false }) => [
    { text: shown(ref) },
    { text: shown(data_classes.join(" ")) },
    { text: access },
    { text: privileged ? "privileged" : "-", paint: privileged ? colors.yellow : colors.dim },
  ]);
  if (tools.length > 0) await printTable(["tool", "data classes", "access", ""], cells);
}
