import { Command } from "commander";
import { commandGroup } from "../command-group.ts";
import { type Contexts, readContexts, writeContexts } from "../contexts.ts";
import { notTried } from "../fault.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { print, printData, shown } from "../output.ts";

const examples = `
Examples:
  svc context list
  svc context use production       for every later command without --control-plane and SVC_CONTROL_PLANE_URL
  svc context remove production    its bearers too
`;

export const command = (): Command =>
  commandGroup("context", examples, [
    withFormat(new Command("list"), "one list: {name, control_plane, planes, current}")
      .description("List the control planes of svc login.")
      .action(list),
    new Command("use").description("Choose the current one.").argument("<name>").action(use),
    new Command("remove").description("Forget one, with its bearers.").argument("<name>").action(remove),
  ]);

async function list(flags: FormatFlags): Promise<void> {
  const { current, byName } = readContexts();
  const rows = Object.entries(byName).map(([name, { controlPlane, bearers }]) => ({
    name,
    control_plane: controlPlane,
    planes: Object.keys(bearers),
    current: name === current,
  }));
  const format = formatOf(flags);
  if (isData(format)) return printData(rows, format);
  if (rows.length === 0) return print("No control plane is kept: svc login URL.");
  for (const row of rows) {
    print(shown(`${row.current ? "*" : " "} ${row.name}  ${row.control_plane}  ${row.planes.join(", ")}`));
  }
}

/** @throws {Fault} where there is none of this name */
function known(name: string): Contexts {
  const contexts = readContexts();
  if (contexts.byName[name] !== undefined) return contexts;
  throw notTried(`there is no context ${name}`, "svc context list prints the names.");
}

function use(name: string): void {
  writeContexts({ ...known(name), current: name });
  print(`${shown(name)} is the current context`);
}

function remove(name: string): void {
  const { current, byName } = known(name);
  const { [name]: _, ...others } = byName;
  writeContexts({ current: current === name ? undefined : current, byName: others });
  print(`${shown(name)} is forgotten`);
}
