import { Command } from "commander";
import { commandGroup } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, type ListFlags, withFormat, withList } from "../formats.ts";
import { colors, print, printBody, printTable, shown } from "../output.ts";
import { printList, type View } from "../print-list.ts";

const examples = `
Examples:
  svc scopes list
  svc scopes show expenses         what a consent to it grants: tools, data classes, agents, hops
  svc scopes show expenses --version 3 -o yaml
`;

export const command = (): Command =>
  commandGroup("scopes", examples, [
    withList(withControlPlane(new Command("list")), "one line a scope")
      .description("List scopes by name, each with its newest policy.")
      .action(list),
    withFormat(withControlPlane(new Command("show")), "one line: the catalog")
      .description("Show what a consent to a scope grants.")
      .argument("<scope>")
      .option("--version <n>", "of this policy version (default: the newest)", Number)
      .action(show),
  ]);

async function list(flags: ControlPlaneFlags & ListFlags): Promise<void> {
  const plane = openControlPlane(flags);
  await printList(view, flags, () => plane.rows("audit", (svc, page) => svc.audit.scopes(page)));
}

const view: View<"scopeRead"> = {
  body: "scopeRead",
  none: "There is no scope: the first accepted manifest that names one makes it.",
  nameOf: ({ scope }) => scope,
  columns: [
    { title: "scope", text: ({ scope }) => scope },
    { title: "policy", text: ({ version }) => version },
    { title: "age", text: ({ compiledAt }) => compiledAt, kind: "time" },
  ],
};

type ShowFlags = ControlPlaneFlags & FormatFlags & { readonly version?: number };

async function show(scope: string, flags: ShowFlags): Promise<void> {
  const { version } = flags;
  const catalog = await openControlPlane(flags).call("admin", (svc) => svc.admin.scopeCatalog(scope, { version }));
  const format = formatOf(flags);
  if (isData(format)) return printBody("scopeCatalog", catalog, format);
  print(`${shown(catalog.scope)} policy version ${catalog.version}, at most ${catalog.hopBudget} hops`);
  const [entry, further] = [catalog.entryAgents, catalog.downstreamAgents].map((names) => names.map(shown).join(", "));
  if (entry !== "") print(`a person delegates to ${entry}`);
  if (further !== "") print(`and these to ${further}`);
  const cells = catalog.tools.map(({ ref, dataClasses, privileged }) => [
    { text: shown(ref) },
    { text: shown(dataClasses.join(" ")) },
    { text: privileged ? "privileged" : "-", paint: privileged ? colors.yellow : colors.dim },
  ]);
  await printTable(["tool", "data classes", ""], cells);
}
