import type { ControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { colors, print, printJson, shown } from "../output.ts";
import { differencesText, type Nearest, nearestOf } from "./differences.ts";
import { type InForce, inForceText, newestReport, versionOf } from "./in-force.ts";
import { printReport } from "./printed.ts";
import { isInForce, type Refusal, type Submission, type Submitted, send } from "./submit.ts";

/** Submits what is not in force yet, and reports the outcome and the version in force. @throws {Fault} for a refusal */
export async function submitAndReport(plane: ControlPlane, submission: Submission, json: boolean): Promise<void> {
  const { agent } = submission;
  const known = await newestReport(plane, agent);
  if (known?.inForce && (await isInForce(plane, submission, known.inForce))) {
    return reportUnchanged(plane, agent, known.inForce, json);
  }
  const outcome = await send(plane, submission).catch((cause: unknown) => {
    if (!(cause instanceof Fault) || cause.exitCode === 2) throw cause;
    const { message, advice, code } = cause;
    throw new Fault(`${message}\n${inForceText(agent, known?.inForce)}`, advice, { cause, code });
  });
  return outcome.kind === "accepted"
    ? reportAccepted(plane, agent, outcome, json)
    : reportRefused(plane, submission, outcome, json);
}

async function reportUnchanged(
  plane: ControlPlane,
  agent: string,
  inForce: NonNullable<InForce>,
  json: boolean,
): Promise<void> {
  if (json) {
    const agentId = await plane.call("admin", (svc) => svc.admin.agentId(agent));
    const { version, status } = inForce;
    return printJson({ agent_id: agentId, manifest_version: version, status, unchanged: true, in_force: version });
  }
  print(`${colors.green("✓")} ${shown(agent)} is unchanged: this document is in force, and its tools did not change`);
  print(inForceText(agent, inForce));
}

type Accepted = Extract<Submitted, { kind: "accepted" }>;

async function reportAccepted(
  plane: ControlPlane,
  agent: string,
  { registered }: Accepted,
  json: boolean,
): Promise<void> {
  const { agentId, manifestVersion, status } = registered;
  const report = await newestReport(plane, agent);
  // Another submission may have come between.
  const inForce = report?.inForce ?? { version: manifestVersion, status };
  if (json) {
    const accepted = { agent_id: agentId, manifest_version: manifestVersion, status };
    return printJson({ ...accepted, unchanged: false, in_force: inForce.version });
  }
  print(`${colors.green("✓")} ${shown(agent)} version ${manifestVersion} is ${status}`);
  if (report?.manifestVersion === manifestVersion) {
    // An override accepted what else differs.
    await printReport({ ...report, diff: report.diff.filter(({ kind }) => kind === "undeclarable") });
  }
  print(inForceText(agent, inForce));
}

async function reportRefused(plane: ControlPlane, submission: Submission, refusal: Refusal, json: boolean) {
  const { agent } = submission;
  const { code, diff } = refusal;
  const inForce = (await newestReport(plane, agent))?.inForce;
  if (!json) throw await refusalFault(plane, submission, refusal, inForce);
  const status = code === "needs_review" ? "needs_review" : "rejected";
  printJson({ agent, status, code, diff, in_force: inForce?.version ?? null });
  process.exitCode = 1;
}

/** The differences with their remedies, and which version still counts. */
export async function refusalFault(
  plane: ControlPlane,
  submission: Submission,
  { code, message, diff }: Refusal,
  inForce: InForce | undefined,
): Promise<Fault> {
  const nearest = diff.some(({ kind }) => kind === "exceeds")
    ? await nearestTo(plane, submission, inForce)
    : () => undefined;
  const text = `${message} (${code})\n\n${differencesText(diff, nearest)}\n\n${inForceText(submission.agent, inForce)}`;
  const advice =
    code === "needs_review"
      ? 'Make what is silent answer, or attest it: --override "why it can be trusted".'
      : "Correct the manifest as each line says; svc manifest diff compares it again and stores nothing.";
  return new Fault(text, advice, { code });
}

/** Among what the sources advertise, as far as they can be read from here, and what the version in force declares. */
async function nearestTo(plane: ControlPlane, submission: Submission, inForce: InForce | undefined): Promise<Nearest> {
  const stored = inForce ? (await versionOf(plane, submission.agent, inForce)).doc : undefined;
  const { advertisedRefs } = await import("./advertised.ts");
  return nearestOf([...(await advertisedRefs(submission.manifest)), ...refsIn(stored)]);
}

function refsIn(manifest: unknown): readonly string[] {
  const { scopes = {} } = (manifest ?? {}) as Pick<Submission["manifest"], "scopes">;
  return Object.values(scopes).flatMap(({ tools = [] }) => tools.map(({ ref }) => ref));
}
