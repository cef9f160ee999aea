/** One command of the walk. */
export interface Step {
  readonly title: string;
  /** As typed; `svc`, `node` and `agent.sh` are taken from this workspace. */
  readonly command: string;
  /** In its place, or with it, on Kubernetes; the `svc` commands are the same there. */
  readonly onKubernetes?: string;
  /** Expected; 0 by default. */
  readonly exitCode?: number;
  /** Expected in its output. */
  readonly prints: readonly RegExp[];
}

const behind = (mode: string, agent: string): string =>
  `svc run --scope day --user ada --agent assistant --upstreams pep.yaml --mode ${mode} -- ${agent}`;

const annotate = (mode: string): string =>
  `kubectl patch deployment assistant --patch '{"spec": {"template": {"metadata": {"annotations": {"pep.svc/mode": "${mode}"}}}}}'`;

/** From an undeclared agent, through its observed calls, to its enforced manifest. */
export const steps: readonly Step[] = [
  {
    title: "Declare what the assistant should need; discovery confirms the tools",
    command: "svc manifest submit assistant.yaml",
    prints: [/reconciled/],
  },
  {
    title: "Observe a day of it: nothing is blocked",
    command: behind("observe", "node dist/main.js agent"),
    onKubernetes: annotate("observe"),
    prints: [/created: 12:30 lunch with Bob/, /sent to bob@example.com/],
  },
  {
    title: "List the calls that enforcement would block",
    command: "svc would-block --scope day --emit-manifest proposed",
    prints: [/mcp:calendar\/create_event/, /mcp:mail\/send_mail/],
  },
  {
    title:
      "A person reviewed the proposal: appointments yes, mail in Ada's name no. Compare it with the accepted manifest",
    command: "svc manifest diff assistant-reviewed.yaml",
    exitCode: 1,
    prints: [/\+.*mcp:calendar\/create_event/],
  },
  {
    title: "Decide the day again under it, before it is submitted",
    command: "svc replay --manifest assistant-reviewed.yaml --since 1d",
    prints: [/allow +1 +assistant +mcp:calendar\/create_event/, /0 would be denied, 1 would be allowed/],
  },
  {
    title: "Submit it",
    command: "svc manifest submit assistant-reviewed.yaml",
    prints: [/reconciled/],
  },
  {
    title: "What is left is what should be denied",
    command: "svc would-block --scope day",
    prints: [/mcp:mail\/send_mail .* open /, /mcp:calendar\/create_event .* admitted since version 2 /, /^1 left/m],
  },
  {
    title: "Enforce: the appointment is created, the mail is denied, and the agent continues",
    command: behind("enforce", "node dist/main.js agent"),
    onKubernetes: annotate("enforce"),
    prints: [/created: 12:30 lunch with Bob/, /refused: TARGET_NOT_DECLARED/],
  },
  {
    title: "The same for an agent of four lines of curl",
    command: behind("enforce", "sh agent.sh"),
    prints: [/09:00 stand-up/, /"deny_reason":"TARGET_NOT_DECLARED"/],
  },
  {
    title: "Explain the denied call",
    command: "svc explain ACTION_ID",
    prints: [/TARGET_NOT_DECLARED/, /ada/, /assistant/],
  },
];
