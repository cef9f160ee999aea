import type { SinkRead } from "@svc/client";
import { type SinkName, sinkNames } from "@svc/core/closed-sets";
import { Argument, Command } from "commander";
import { commandGroup } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, type ListFlags, withFormat, withList } from "../formats.ts";
import { colors, print, printBody } from "../output.ts";
import { printList, type View } from "../print-list.ts";
import { past } from "../times.ts";

const examples = `
Examples:
  svc sink status
  svc sink replay webhook --since 24h   what was recorded since is delivered again
`;

export const command = (): Command =>
  commandGroup("sink", examples, [
    withList(withControlPlane(new Command("status")), "one line a sink")
      .description("Show how far the record is delivered, and why a sink fails.")
      .action(status),
    withFormat(withControlPlane(new Command("replay")), "the sink")
      .description("Deliver the record again from a time on.")
      .addArgument(new Argument("<sink>").choices(sinkNames))
      .requiredOption("--since <time>", "a time, or a span before now", past)
      .action(replay),
  ]);

async function status(flags: ControlPlaneFlags & ListFlags): Promise<void> {
  const plane = openControlPlane(flags);
  await printList(view, flags, () => plane.rows("audit", (svc, page) => svc.audit.sinks(page)));
}

const stateOf = ({ failures, undelivered }: SinkRead): string =>
  failures > 0 ? "failing" : undelivered > 0 ? "delivering" : "current";

const stateColors: Readonly<Record<string, (text: string) => string>> = { failing: colors.red, current: colors.green };

const view: View<"sinkRead"> = {
  body: "sinkRead",
  none: "The record is delivered nowhere: set SVC_SINK_WEBHOOK or SVC_SINK_OTLP.",
  nameOf: (row) => row.sink,
  columns: [
    { title: "sink", text: (row) => row.sink },
    { title: "state", text: stateOf, paint: (row) => stateColors[stateOf(row)] ?? colors.dim },
    { title: "undelivered", text: (row) => String(row.undelivered) },
    { title: "lag", text: (row) => `${row.lagSeconds}s` },
    { title: "delivered", text: (row) => row.deliveredAt, kind: "time" },
    { title: "failing", text: (row) => row.failingSince, kind: "time" },
    { title: "error", text: (row) => row.lastError },
    { title: "next try", text: (row) => row.retryAt, kind: "time", isWide: true },
    { title: "batch", text: (row) => String(row.batch), isWide: true },
  ],
};

async function replay(sink: SinkName, { since, ...flags }: ControlPlaneFlags & FormatFlags & { since: string }) {
  const moved = await openControlPlane(flags).call("admin", (svc) => svc.admin.replaySink(sink, since));
  const format = formatOf(flags);
  if (isData(format)) return printBody("sinkRead", moved, format);
  print(`${moved.undelivered} rows will be delivered to ${moved.sink}`);
}
