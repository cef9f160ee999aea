import { type BlockKind, blockKinds } from "@svc/core/closed-sets";
import { Argument, Command, Option } from "commander";
import { commandGroup } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, type ListFlags, withFormat, withList } from "../formats.ts";
import { colors, print, printBody, printData, shown } from "../output.ts";
import { printList, type View } from "../print-list.ts";
import { future, spanFromNow } from "../times.ts";

const examples = `
Examples:
  svc block set tool mcp:files --reason "CVE-2026-0001"
                                   every tool of that server, from the next decision on, in every session
  svc block set agent planner --reason "odd behaviour" --for 10m
  svc block list
  svc block lift tool mcp:files
`;

const kindArgument = () => new Argument("<kind>", "kind of target").choices([...blockKinds]);

export const command = (): Command =>
  commandGroup("block", examples, [
    withFormat(withControlPlane(new Command("set")), "one line")
      .description("Set or change a block.")
      .addArgument(kindArgument())
      .argument("<ref>", "its name")
      .requiredOption("--reason <text>", "kept in the record, and shown with every denial")
      .addOption(new Option("--for <span>", "how long, such as 10m or 24h (default: no end)").argParser(spanFromNow))
      .addOption(new Option("--until <time>", "its end").argParser(future).conflicts("for"))
      .action(set),
    withList(withControlPlane(new Command("list")), "one line a block")
      .description("List the blocks in force.")
      .action(list),
    withFormat(withControlPlane(new Command("lift")), "{kind, ref}")
      .description("Lift a block.")
      .addArgument(kindArgument())
      .argument("<ref>", "its name")
      .action(lift),
  ]);

interface SetFlags extends ControlPlaneFlags, FormatFlags {
  readonly reason: string;
  /** Both are times. */
  readonly for?: string;
  readonly until?: string;
}

async function set(kind: BlockKind, ref: string, flags: SetFlags): Promise<void> {
  const wanted = { kind, ref, reason: flags.reason, until: flags.for ?? flags.until };
  const plane = openControlPlane(flags);
  // Set first: the warning takes reads that the incident need not wait for.
  const block = await plane.call("admin", (svc) => svc.admin.setBlock(wanted));
  const { uncovered } = await import("../block-coverage.ts");
  const warning = await uncovered(plane, kind, ref).catch(() => undefined);
  if (warning !== undefined) process.stderr.write(`${colors.yellow("warning:")} ${shown(warning)}\n`);
  const format = formatOf(flags);
  if (isData(format)) return printBody("blockRead", block, format);
  const end = block.until === null ? "" : ` until ${block.until}`;
  print(`${block.kind} ${shown(block.ref)} is ${colors.red("blocked")}${end}`);
}

async function list(flags: ControlPlaneFlags & ListFlags): Promise<void> {
  const plane = openControlPlane(flags);
  await printList(view, flags, () => plane.rows("audit", (svc, page) => svc.audit.blocks(page)));
}

const view: View<"blockRead"> = {
  body: "blockRead",
  none: "No block is in force.",
  nameOf: (block) => `${block.kind} ${block.ref}`,
  columns: [
    { title: "kind", text: (block) => block.kind },
    { title: "ref", text: (block) => block.ref },
    { title: "age", text: (block) => block.createdAt, kind: "time" },
    { title: "ends", text: (block) => block.until, kind: "time" },
    { title: "reason", text: (block) => block.reason },
  ],
};

async function lift(kind: BlockKind, ref: string, flags: ControlPlaneFlags & FormatFlags): Promise<void> {
  await openControlPlane(flags).call("admin", (svc) => svc.admin.liftBlock({ kind, ref }));
  const format = formatOf(flags);
  if (isData(format)) await printData({ kind, ref }, format);
  else print(`${kind} ${shown(ref)} is not blocked`);
}
