import type { DecisionFilters } from "@svc/client";
import { denyReasons, outcomes, taints, targetKinds } from "@svc/core/closed-sets";
import { type Command, Option } from "commander";
import { past } from "./times.ts";

export interface DecisionFlags
  extends Omit<DecisionFilters, "sessionId" | "userSub" | "protocol" | "order" | "since" | "until"> {
  readonly session?: string;
  readonly user?: string;
  readonly protocol?: "only" | "without";
  readonly observed?: boolean;
  /** Times are text: `past` has converted spans such as 15m. */
  readonly since?: string;
  readonly until?: string;
}

/** Every filter of the audit API. */
export const withDecisionFilters = (command: Command): Command =>
  command
    .option("--session <id>", "of one session, or the end of its id")
    .option("--agent <name>", "of one caller: an agent, or at hop 1 a person")
    .addOption(new Option("--outcome <outcome>", "allow or deny").choices([...outcomes]))
    .addOption(new Option("--deny-reason <reason>", "of one reason").choices([...denyReasons]))
    .addOption(new Option("--target-kind <kind>", "tool or agent").choices([...targetKinds]))
    .addOption(new Option("--taint <taint>", "under one taint").choices([...taints]))
    .option("--user <sub>", "in sessions of one person")
    .option("--scope <scope>", "in sessions of one scope")
    .option("--target <name>", "to one tool or agent")
    .addOption(new Option("--protocol <which>", "messages of MCP sessions").choices(["only", "without"]))
    .option("--privileged", "privileged calls only")
    .addOption(new Option("--observed", "observed decisions only").conflicts("enforced"))
    .option("--enforced", "enforced decisions only")
    .option("--since <time>", "from then on: 2026-01-31T08:00Z, or a span such as 15m, 24h, 7d", past)
    .option("--until <time>", "before then", past);

export const toFilters = (flags: DecisionFlags) => ({
  sessionId: flags.session,
  agent: flags.agent,
  outcome: flags.outcome,
  denyReason: flags.denyReason,
  userSub: flags.user,
  scope: flags.scope,
  target: flags.target,
  targetKind: flags.targetKind,
  protocol: flags.protocol && flags.protocol === "only",
  taint: flags.taint,
  privileged: flags.privileged,
  enforced: flags.observed ? false : flags.enforced,
  since: flags.since,
  until: flags.until,
});
