import type { ReplayChange } from "@svc/client";
import { Command, InvalidArgumentError } from "commander";
import { type ControlPlane, type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import type { ManifestFile } from "../manifest-file.ts";
import { colors, print, printData, progress } from "../output.ts";
import { printList, type View } from "../print-list.ts";
import { past } from "../times.ts";

const examples = `
Examples:
  svc replay --manifest planner.yaml --since 7d    what submitting it would change of a week's decisions
  svc replay --manifest planner.yaml --agent planner --json | jq -r '.changes[].action_ids[0]'
                                                   an example of each, for svc explain
`;

interface Flags extends ControlPlaneFlags, FormatFlags {
  readonly manifest: string;
  readonly since?: string;
  readonly until?: string;
  readonly scope?: string;
  readonly agent?: string;
  readonly maxDecisions: number;
}

export const command = (): Command =>
  withFormat(withControlPlane(new Command("replay")), "{judged, complete, oldest_ts, changes}")
    .requiredOption("--manifest <file>", "the candidate, or - for standard input")
    .option("--since <time>", "decisions from then on: a time, or a span such as 24h, 7d", past)
    .option("--until <time>", "before then", past)
    .option("--scope <scope>", "of the sessions of one scope")
    .option("--agent <name>", "of one caller")
    .option("--max-decisions <n>", "read at most so many of the newest decisions", wholeNumber, 1_000_000)
    .addHelpText("after", `\nExits 1 if an allowed call would be denied.\n${examples}`)
    .action(replay);

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError("It must be a whole number from 1.");
  return Number(text);
}

async function replay({ manifest, ...flags }: Flags): Promise<void> {
  const { readManifestFile } = await import("../manifest-file.ts");
  const { file } = await readManifestFile(manifest);
  const format = formatOf(flags);
  const found = await replayAll(openControlPlane(flags), file, flags, !isData(format));
  const changes = [...found.changes.values()].sort(deniesFirst);
  const denied = callsThatBecome("deny", changes);
  if (denied > 0) process.exitCode = 1;
  if (found.stopped !== undefined) process.stderr.write(`${stoppedWords(found)}\n`);
  if (isData(format)) {
    const { replayChange, toWire } = await import("@svc/core");
    const { judged, oldestTs, stopped } = found;
    const facts = { judged, complete: stopped === undefined, oldest_ts: oldestTs };
    return printData({ ...facts, changes: changes.map((change) => toWire(replayChange, change)) }, format);
  }
  await printList(view, { output: "table", limit: Number.POSITIVE_INFINITY }, () => iterated(changes));
  print(`${found.judged} judged: ${denied} would be denied, ${callsThatBecome("allow", changes)} would be allowed.`);
  if (changes.length > 0) print("svc explain EXAMPLE shows why a call was decided as it was.");
}

interface Found {
  readonly changes: Map<string, ReplayChange>;
  judged: number;
  read: number;
  oldestTs: string | null;
  /** Undefined if every decision was judged. */
  stopped?: "decisions" | "kinds";
}

/** Kinds of changes. It bounds what is held. */
const mostKinds = 10_000;

/** Page by page, newest first. */
async function replayAll(
  plane: ControlPlane,
  { agent, manifest }: ManifestFile,
  { since, until, scope, agent: actingAgent, maxDecisions }: Omit<Flags, "manifest">,
  isShown: boolean,
): Promise<Found> {
  const found: Found = { changes: new Map(), judged: 0, read: 0, oldestTs: null };
  const steps = progress({ isShown, everyMs: 10_000 });
  const request = { agent, manifest, since, until, scope, actingAgent };
  let cursor: string | undefined;
  do {
    const page = await plane.call("audit", (svc) => svc.audit.replay({ ...request, cursor }));
    for (const change of page.changes) add(found.changes, change);
    found.judged += page.judged;
    found.read += page.read;
    found.oldestTs = page.oldestTs ?? found.oldestTs;
    cursor = page.nextCursor ?? undefined;
    if (cursor !== undefined) steps.show(`${found.read} decisions read, back to ${found.oldestTs}`);
    if (cursor !== undefined && found.read >= maxDecisions) found.stopped = "decisions";
    if (found.changes.size > mostKinds) found.stopped = "kinds";
  } while (cursor !== undefined && found.stopped === undefined);
  steps.done();
  return found;
}

function add(changes: Map<string, ReplayChange>, change: ReplayChange): void {
  const { scope, agent, target, targetKind, dataClass, becomes, denyReason } = change;
  const key = JSON.stringify([scope, agent, target, targetKind, dataClass, becomes, denyReason]);
  const known = changes.get(key);
  // Pages come newest first.
  const later = known && { lastTs: known.lastTs, actionIds: [...known.actionIds, ...change.actionIds].slice(0, 3) };
  changes.set(key, { ...change, ...later, count: change.count + (known?.count ?? 0) });
}

const callsThatBecome = (outcome: ReplayChange["becomes"], changes: readonly ReplayChange[]): number =>
  changes.reduce((sum, { becomes, count }) => sum + (becomes === outcome ? count : 0), 0);

const deniesFirst = (a: ReplayChange, b: ReplayChange): number =>
  Number(b.becomes === "deny") - Number(a.becomes === "deny") || b.count - a.count;

const stoppedWords = ({ stopped, read, oldestTs }: Found): string =>
  stopped === "kinds"
    ? `Not complete: over ${mostKinds} kinds of changes, back to ${oldestTs}.\nNarrow it by --scope, --agent or --since.`
    : `Not complete: read ${read} decisions, back to ${oldestTs}.\nRaise --max-decisions, or narrow it by --since.`;

async function* iterated<Row>(rows: readonly Row[]): AsyncGenerator<Row> {
  yield* rows;
}

const view: View<"replayChange"> = {
  body: "replayChange",
  none: "The candidate changes no decision.",
  nameOf: ({ actionIds }) => actionIds[0] ?? "",
  columns: [
    {
      title: "becomes",
      text: ({ becomes }) => becomes,
      paint: ({ becomes }) => (becomes === "deny" ? colors.red : colors.green),
    },
    { title: "calls", text: ({ count }) => count },
    { title: "agent", text: ({ agent }) => agent },
    { title: "target", text: ({ target }) => target },
    { title: "data class", text: ({ dataClass }) => dataClass },
    { title: "reason", text: ({ denyReason }) => denyReason },
    { title: "scope", text: ({ scope }) => scope },
    { title: "example", text: ({ actionIds }) => actionIds[0], kind: "id" },
  ],
};
