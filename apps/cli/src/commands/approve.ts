import { setTimeout as delay } from "node:timers/promises";
import { Command } from "commander";
import { type ControlPlane, type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { type FormatFlags, formatOf, isData, withFormat } from "../formats.ts";
import { colors, print, printData, progress, shown } from "../output.ts";
import { printList, type View } from "../print-list.ts";
import { spanMs } from "../times.ts";
import { wholeActionId } from "../whole-id.ts";

const examples = `
A call that is denied as SCOPE_NOT_CONSENTED is admitted by its person alone, on a page of the control plane. For agents
without a screen this prints the link; give it to that person. It is of no use to others, and lives for ten minutes.

Examples:
  svc approve                      denied calls of the last hour that a person could admit
  svc approve 0190f5a1-7c2e-7d3b-9a41-5e6f7a8b9c0d
  svc approve "$ACTION_ID" --wait 10m
                                   until the person answers; exit 1 if it refuses, or does not answer in time
  svc approve "$ACTION_ID" --json | jq -r .consent_url
`;

interface Flags extends ControlPlaneFlags, FormatFlags {
  /** Milliseconds. */
  readonly wait?: number;
}

export const command = (): Command =>
  withFormat(withControlPlane(new Command("approve")), "one line: {action_id, user_sub, agent, target, consent_url}")
    .argument("[action_id]", "of the denied call, or the end of it")
    .option("--wait <span>", "wait so long for the person's answer, such as 10m", spanMs)
    .addHelpText("after", examples)
    .action(approve);

const hourMs = 3_600_000;

async function approve(id: string | undefined, flags: Flags): Promise<void> {
  const plane = openControlPlane(flags);
  if (id === undefined) {
    const filters = { denyReason: "SCOPE_NOT_CONSENTED", since: new Date(Date.now() - hourMs).toISOString() } as const;
    await printList(view, { ...flags, limit: 50 }, () =>
      plane.rows("audit", (svc, page) => svc.audit.decisions({ ...filters, ...page })),
    );
    return;
  }
  const actionId = await wholeActionId(plane, id);
  const [explanation, chain] = await plane.call("audit", ({ audit }) =>
    Promise.all([audit.explanation(actionId), audit.chain(actionId)]),
  );
  const action = chain.hops.find((hop) => hop.actionId === actionId);
  const { consentUrl = null } = explanation;
  if (consentUrl === null || action === undefined) {
    throw new Fault(
      "no person can admit this call: it was not denied for want of a consent, its session has ended, or people cannot sign in",
      `svc explain ${actionId} shows why it was decided so; people sign in where the control plane has SVC_IDP_CLIENT_ID.`,
    );
  }
  const facts = { action_id: actionId, user_sub: chain.root.userSub, agent: action.actingAgent, target: action.target };
  const format = formatOf(flags);
  if (isData(format)) printData({ ...facts, consent_url: consentUrl }, format);
  else {
    print(`${shown(facts.user_sub)} is asked whether ${shown(facts.agent)} may call ${shown(facts.target)}`);
    print(consentUrl);
  }
  if (flags.wait !== undefined) await answerBefore(plane, actionId, Date.now() + flags.wait, !isData(format));
}

const pollMs = 1_000;

async function answerBefore(plane: ControlPlane, actionId: string, endsMs: number, isTold: boolean): Promise<void> {
  const waiting = progress({ isShown: isTold });
  waiting.show("waiting for the answer");
  try {
    do {
      const answer = await answerTo(plane, actionId);
      if (answer === "consent_granted") return isTold ? print(colors.green("allowed")) : undefined;
      if (answer === "consent_refused") throw new Fault("the person refused", "Nothing was allowed.");
      await delay(pollMs);
    } while (Date.now() < endsMs);
  } finally {
    waiting.done();
  }
  throw new Fault("the person did not answer in time", `svc approve ${actionId} prints a new link.`);
}

/** The event of the answer names the action. */
async function answerTo(plane: ControlPlane, actionId: string) {
  for (const kind of ["consent_granted", "consent_refused"] as const) {
    const { data } = await plane.call("audit", ({ audit }) => audit.events({ kind, limit: 50 }));
    if (data.some(({ details }) => details.action_id === actionId)) return kind;
  }
  return undefined;
}

const view: View<"decisionRow"> = {
  body: "decisionRow",
  none: "No call of the last hour waits for a person.",
  nameOf: (row) => row.actionId,
  columns: [
    { title: "age", text: (row) => row.ts, kind: "time" },
    { title: "agent", text: (row) => row.actingAgent },
    { title: "target", text: (row) => row.target },
    { title: "data class", text: (row) => row.dataClass },
    { title: "session", text: (row) => row.sessionId, kind: "id" },
    { title: "action", text: (row) => row.actionId, kind: "id" },
  ],
};
