import { type AdministrativeEventKind, administrativeEventKinds } from "@svc/core/closed-sets";
import { Command, Option } from "commander";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type ListFlags, withList } from "../formats.ts";
import { printList, type View } from "../print-list.ts";
import { past } from "../times.ts";
import { wholeSessionId } from "../whole-id.ts";

const examples = `
Examples:
  svc events                       the newest 50: manifests, consents, blocks, keys, revocations, and who did it
  svc events --agent planner --since 7d -o wide
  svc events --kind block_set --limit all --json
`;

interface Flags extends ControlPlaneFlags, ListFlags {
  readonly kind?: AdministrativeEventKind;
  readonly agent?: string;
  readonly session?: string;
  readonly since?: string;
  readonly until?: string;
}

export const command = (): Command =>
  withList(withControlPlane(new Command("events")), "one line an event", 50)
    .addOption(new Option("--kind <kind>", "of one kind").choices([...administrativeEventKinds]))
    .option("--agent <name>", "that concern one agent")
    .option("--session <id>", "of one session, or the end of its id")
    .option("--since <time>", "from then on: a time, or a span such as 24h, 7d", past)
    .option("--until <time>", "before then", past)
    .addHelpText("after", examples)
    .action(events);

async function events(flags: Flags): Promise<void> {
  const plane = openControlPlane(flags);
  const { kind, agent, session, since, until } = flags;
  const sessionId = session === undefined ? undefined : await wholeSessionId(plane, session);
  const filters = { kind, agent, sessionId, since, until };
  await printList(view, flags, () => plane.rows("audit", (svc, page) => svc.audit.events({ ...filters, ...page })));
}

const view: View<"auditEvent"> = {
  body: "auditEvent",
  none: "No events match.",
  nameOf: (event) => event.eventId,
  columns: [
    { title: "age", text: (event) => event.ts, kind: "time" },
    { title: "kind", text: (event) => event.kind },
    { title: "actor", text: (event) => event.actor },
    { title: "agent", text: (event) => event.agent },
    { title: "session", text: (event) => event.sessionId, kind: "id" },
    { title: "reason", text: (event) => event.reason },
    { title: "details", text: (event) => JSON.stringify(event.details), isWide: true },
  ],
};
