import type { DecisionFilters } from "@svc/client";
import { denyReasons, outcomes, taints, targetKinds } from "@svc/core/closed-sets";
import { type Command, InvalidArgumentError, Option } from "commander";

export interface DecisionFlags extends Omit<DecisionFilters, "sessionId" | "since" | "until"> {
  readonly session?: string;
  readonly observed?: boolean;
  /** Times are text: `instant` has converted spans such as 15m. */
  readonly since?: string;
  readonly until?: string;
}

/** Every filter of the audit API. */
export const withDecisionFilters = (command: Command): Command =>
  command
    .option("--session <id>", "of one session")
    .option("--agent <name>", "of one caller: an agent, or at hop 1 a person")
    .addOption(new Option("--outcome <outcome>", "allow or deny").choices([...outcomes]))
    .addOption(new Option("--deny-reason <reason>", "of one reason").choices([...denyReasons]))
    .addOption(new Option("--target-kind <kind>", "tool or agent").choices([...targetKinds]))
    .addOption(new Option("--taint <taint>", "under one taint").choices([...taints]))
    .option("--privileged", "privileged calls only")
    .addOption(new Option("--observed", "observed decisions only").conflicts("enforced"))
    .option("--enforced", "enforced decisions only")
    .option("--since <time>", "from then on: 2026-01-31T08:00Z, or a span such as 15m, 24h, 7d", instant)
    .option("--until <time>", "before then", instant);

const units = { s: 1_000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** RFC 3339, or a span before now. */
export function instant(text: string): string {
  const ago = /^(\d{1,6})([smhd])$/.exec(text);
  const ms = ago ? Date.now() - Number(ago[1]) * units[ago[2] as keyof typeof units] : Date.parse(text);
  if (Number.isNaN(ms))
    throw new InvalidArgumentError("It must be a time such as 2026-01-31T08:00Z, or a span such as 15m.");
  return new Date(ms).toISOString();
}

export const toFilters = (flags: DecisionFlags) => ({
  sessionId: flags.session,
  agent: flags.agent,
  outcome: flags.outcome,
  denyReason: flags.denyReason,
  targetKind: flags.targetKind,
  taint: flags.taint,
  privileged: flags.privileged,
  enforced: flags.observed ? false : flags.enforced,
  since: flags.since,
  until: flags.until,
});
