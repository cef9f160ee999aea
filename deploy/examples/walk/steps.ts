/** One command of the walk. */
export interface Step {
  readonly title: string;
  /** As it is typed; `svc`, `node` and `agent.sh` are this workspace's own. */
  readonly command: string;
  /** What takes its place, or goes with it, on Kubernetes; the `svc` commands are the same there. */
  readonly onKubernetes?: string;
  /** What it must exit with and tell, else the walk has failed. */
  readonly exitCode?: number;
  readonly tells: readonly RegExp[];
}

const behind = (mode: string, agent: string): string =>
  `svc run --scope day --user ada --agent assistant --upstreams pep.yaml --mode ${mode} -- ${agent}`;

const annotate = (mode: string): string =>
  `kubectl patch deployment assistant --patch '{"spec": {"template": {"metadata": {"annotations": {"pep.svc/mode": "${mode}"}}}}}'`;

/** From an agent that nobody wrote down, over what it was seen to do, to what it may do. */
export const steps: readonly Step[] = [
  {
    title: "Declare what the assistant is thought to do; discovery confirms that the tools are there",
    command: "svc manifest submit assistant.yaml",
    tells: [/reconciled/],
  },
  {
    title: "Observe a day of it: nothing is blocked",
    command: behind("observe", "node dist/main.js agent"),
    onKubernetes: annotate("observe"),
    tells: [/created: 12:30 lunch with Bob/, /sent to bob@example.com/],
  },
  {
    title: "What would enforcing have blocked?",
    command: "svc would-block --scope day --emit-manifest proposed",
    tells: [/mcp:calendar\/create_event/, /mcp:mail\/send_mail/],
  },
  {
    title: "Appointments are wanted, mail in Ada's name is not: compare what a person made of the proposal",
    command: "svc manifest diff assistant-reviewed.yaml",
    exitCode: 1,
    tells: [/\+.*mcp:calendar\/create_event/],
  },
  {
    title: "Submit it",
    command: "svc manifest submit assistant-reviewed.yaml",
    tells: [/reconciled/],
  },
  {
    title: "Enforce: the appointment is made, the mail is refused, and the agent goes on",
    command: behind("enforce", "node dist/main.js agent"),
    onKubernetes: annotate("enforce"),
    tells: [/created: 12:30 lunch with Bob/, /refused: TARGET_NOT_DECLARED/],
  },
  {
    title: "The same for an agent that is four lines of curl",
    command: behind("enforce", "sh agent.sh"),
    tells: [/09:00 stand-up/, /"deny_reason":"TARGET_NOT_DECLARED"/],
  },
  {
    title: "Who asked, for whom, and what would have admitted it",
    command: "svc explain ACTION_ID",
    tells: [/TARGET_NOT_DECLARED/, /ada/, /assistant/],
  },
];
