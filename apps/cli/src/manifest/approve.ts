import { confirm } from "../command-group.ts";
import type { ControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { print, shown } from "../output.ts";
import { refusalFault, submitAndReport } from "./accept.ts";
import { differencesText } from "./differences.ts";
import { inForceText, newestReport, versionOf } from "./in-force.ts";
import { preview, type Submission } from "./submit.ts";

interface Approval {
  readonly reason: string;
  readonly yes: boolean | undefined;
  readonly json: boolean;
}

/** Accepts the newest version, which waits for a person, by submitting its text again under an override. @throws {Fault} */
export async function approveNewest(plane: ControlPlane, agent: string, { reason, yes, json }: Approval) {
  const newest = await newestReport(plane, agent);
  if (newest === undefined) {
    const advice = `A first manifest that was refused is not kept: svc manifest submit FILE --override "${reason}".`;
    throw new Fault(`${shown(agent)} is not registered`, advice, { code: "agent_not_found" });
  }
  if (newest.status !== "needs_review") {
    const text = `version ${newest.manifestVersion} of ${shown(agent)} is ${newest.status}: nothing waits for a review`;
    throw new Fault(
      `${text}\n${inForceText(agent, newest.inForce)}`,
      "svc manifest report shows how it was reconciled.",
    );
  }
  const version = { version: newest.manifestVersion, scopes: newest.scopes };
  const { doc, docJson } = await versionOf(plane, agent, version);
  const submission = {
    ...{ agent, manifest: doc as Submission["manifest"], manifestJson: docJson },
    override: { reason },
  };
  const found = await preview(plane, submission);
  if (found.status === "rejected") {
    const refusal = {
      ...({ kind: "refused", code: "reconciliation_rejected", diff: found.diff } as const),
      message: `Version ${newest.manifestVersion} now contradicts what was discovered, which no override accepts.`,
    };
    throw await refusalFault(plane, submission, refusal, newest.inForce);
  }
  if (!json) {
    print(`You attest version ${newest.manifestVersion} of ${shown(agent)}, of which this is not known:\n`);
    print(found.diff.length === 0 ? "nothing: every source answers now" : differencesText(found.diff, () => undefined));
    print("");
  }
  await confirm(`Accept it, for the reason "${reason}"?`, yes);
  await submitAndReport(plane, submission, json);
}
