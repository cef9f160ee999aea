import { userInfo } from "node:os";

interface Initialized {
  readonly agent: string;
  readonly scope: string;
  readonly user: string | undefined;
  readonly upstreams: string;
  readonly manifest: string;
  /** How the agent is started; empty where it is not known. */
  readonly command: readonly string[];
  /** Sources that discovery cannot confirm. */
  readonly unread: readonly string[];
}

export const submitCommand = ({ manifest, unread }: Pick<Initialized, "manifest" | "unread">): string => {
  const reason = `reviewed by hand, since discovery cannot read ${unread.join(", ")}`;
  const override = unread.length === 0 ? [] : ["--override", reason];
  return shellLine(["svc", "manifest", "submit", manifest, ...override]);
};

/** From nothing to a list of what enforcement would block, as they are typed. */
export function nextCommands(known: Initialized): readonly [string, string, string] {
  const { agent, scope, user = systemUser(), upstreams, command } = known;
  const run = ["svc", "run", "--scope", scope, "--user", user, "--agent", agent, "--upstreams", upstreams];
  // A shell, in which the person starts the agent.
  const started = command.length === 0 ? '"$' + '{SHELL:-sh}"' : shellLine(command);
  return [
    submitCommand(known),
    `${shellLine([...run, "--mode", "observe", "--"])} ${started}`,
    shellLine(["svc", "would-block", "--scope", scope]),
  ];
}

function systemUser(): string {
  try {
    return userInfo().username;
  } catch {
    // A process may run under a number that has no name.
    return "me";
  }
}

const shellLine = (words: readonly string[]): string => words.map(shellWord).join(" ");

const shellWord = (word: string): string =>
  /^[A-Za-z0-9_./:@%+=,-]+$/.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
