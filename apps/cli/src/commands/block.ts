import type { BlockRead } from "@svc/client";
import { type BlockKind, blockKinds } from "@svc/core/closed-sets";
import { Argument, Command } from "commander";
import { commandGroup } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { instant } from "../decision-filters.ts";
import { colors, print, printBodies, printJson, shown, table } from "../output.ts";

const examples = `
Examples:
  svc block set tool mcp:files --reason "CVE-2026-0001"
                                   every tool of that server, from the next decision on, in every session
  svc block set agent planner --reason "odd behaviour" --until 2030-01-01T08:00Z
  svc block list
  svc block lift tool mcp:files
`;

const kindArgument = () => new Argument("<kind>", "kind of target").choices([...blockKinds]);

export const command = (): Command =>
  commandGroup("block", examples, [
    withControlPlane(new Command("set"))
      .description("Set or change a block.")
      .addArgument(kindArgument())
      .argument("<ref>", "its name")
      .requiredOption("--reason <text>", "kept in the record, and shown with every denial")
      .option("--until <time>", "end of the block (default: none)", instant)
      .option("--json", "one line of JSON")
      .action(set),
    withControlPlane(new Command("list"))
      .description("List the blocks in force.")
      .option("--json", "one line of JSON a block")
      .action(list),
    withControlPlane(new Command("lift"))
      .description("Lift a block.")
      .addArgument(kindArgument())
      .argument("<ref>", "its name")
      .option("--json", "one line of JSON: {kind, ref}")
      .action(lift),
  ]);

type SetFlags = ControlPlaneFlags & { readonly reason: string; readonly until?: string };

async function set(kind: BlockKind, ref: string, { reason, until, json, ...flags }: SetFlags): Promise<void> {
  const wanted = { kind, ref, reason, until };
  const block = await openControlPlane(flags).call("admin", (svc) => svc.admin.setBlock(wanted));
  if (json) return printBodies("blockRead", [block]);
  const end = block.until === null ? "" : ` until ${block.until}`;
  print(`${block.kind} ${shown(block.ref)} is ${colors.red("blocked")}${end}`);
}

async function list({ json, ...flags }: ControlPlaneFlags): Promise<void> {
  const blocks = await openControlPlane(flags).all("audit", (svc, page) => svc.audit.blocks(page));
  if (json) return printBodies("blockRead", blocks);
  if (blocks.length === 0) return print("No block is in force.");
  const cells = (block: BlockRead) => [
    block.kind,
    shown(block.ref),
    shown(block.reason),
    block.until ?? "no end",
    colors.dim(block.createdAt),
  ];
  print(table(["kind", "ref", "reason", "until", "since"], blocks.map(cells)));
}

async function lift(kind: BlockKind, ref: string, { json, ...flags }: ControlPlaneFlags): Promise<void> {
  await openControlPlane(flags).call("admin", (svc) => svc.admin.liftBlock({ kind, ref }));
  if (json) printJson({ kind, ref });
  else print(`${kind} ${shown(ref)} is not blocked`);
}
