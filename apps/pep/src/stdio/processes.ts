import { groupMemory } from "./group-memory.ts";
import type { Report } from "./report.ts";
import { type ServerProcess, startServerProcess } from "./server-process.ts";
import type { StdioServer } from "./settings.ts";

/** Ends that the server did not cause. Any other end counts towards `maxFaults`. */
const plannedEnds = {
  idle: "was idle and ended",
  replaced: "was idle and made room for another session",
  session: "ended with its session",
  stopping: "ended with the enforcement point or its configuration",
  client: "was ended by its client",
  refused: "refused its client and was ended",
} as const;
export type PlannedEnd = keyof typeof plannedEnds;
const isPlanned = (why: string): boolean => Object.values<string>(plannedEnds).includes(why);

const checkMs = 1_000;
const maxFaults = 5;
const faultsWithinMs = 60_000;

/** One process and the session that alone may reach it. */
export interface SessionProcess {
  readonly session: string;
  readonly process: ServerProcess;
  /** Of MCP, for a client that initialized it. */
  mcpSessionId?: string;
}

export type Processes = ReturnType<typeof createProcesses>;

/** The processes of one upstream: each belongs to one session, and their number, memory and idle time are bounded. */
export function createProcesses(server: StdioServer, report: Report, monotonicMs: () => number) {
  const running = new Set<SessionProcess>();
  /** When the server of a session ended by itself. */
  const faults = new Map<string, readonly number[]>();
  let checking: NodeJS.Timeout | undefined;
  let isClosed = false;

  const end = ({ process }: SessionProcess, why: PlannedEnd) => process.end(plannedEnds[why]);
  const recentFaults = (session: string) =>
    (faults.get(session) ?? []).filter((atMs) => atMs > monotonicMs() - faultsWithinMs);
  const check = async () => {
    const now = monotonicMs();
    for (const each of running) {
      if (each.process.isIdle() && each.process.usedMs() <= now - server.idleMs) void end(each, "idle");
    }
    for (const session of faults.keys()) if (recentFaults(session).length === 0) faults.delete(session);
    const used = await groupMemory(new Set([...running].flatMap(({ process: { pid } }) => pid ?? [])));
    for (const { process } of running) {
      const isOver = process.pid !== undefined && (used.get(process.pid) ?? 0) > server.maxMemoryBytes;
      if (isOver) void process.end(`used more than ${server.maxMemoryBytes / 1024 / 1024} MiB of memory and was ended`);
    }
  };
  const plan = () => {
    clearTimeout(checking);
    if (running.size > 0) checking = setTimeout(() => void check().finally(plan), checkMs).unref();
  };
  const start = (session: string): SessionProcess => {
    const started: SessionProcess = {
      session,
      process: startServerProcess(server, {
        monotonicMs,
        onNoise: report.noise,
        onStderr: ({ length }) => report.stderr(length),
        onEnd(why) {
          running.delete(started);
          report.ended(why);
          if (!isPlanned(why)) faults.set(session, [...recentFaults(session), monotonicMs()]);
        },
      }),
    };
    running.add(started);
    report.started();
    if (running.size === 1) plan();
    return started;
  };
  /** @returns whether another process may start */
  const makeRoom = (): boolean => {
    if (running.size < server.maxProcesses) return true;
    const [oldest] = [...running]
      .filter(({ process }) => process.isIdle())
      .sort((a, b) => a.process.usedMs() - b.process.usedMs());
    if (oldest) void end(oldest, "replaced");
    return oldest !== undefined;
  };

  return {
    /** Those of one session, and no other's. */
    of: (session: string): readonly SessionProcess[] => [...running].filter((each) => each.session === session),
    /** @returns why none can start, for the caller */
    start(session: string): SessionProcess | { readonly why: string } {
      if (isClosed) return { why: "is being replaced or stopped; call again" };
      if (recentFaults(session).length >= maxFaults) {
        return { why: `ended ${maxFaults} times within a minute; call again in a minute, and look at its log` };
      }
      if (!makeRoom())
        return { why: `has ${server.maxProcesses} processes in use, as many as it may; call again later` };
      return start(session);
    },
    end,
    async endSession(session: string): Promise<void> {
      await Promise.all([...running].filter((each) => each.session === session).map((each) => end(each, "session")));
    },
    async close(): Promise<void> {
      isClosed = true;
      clearTimeout(checking);
      await Promise.all([...running].map((each) => end(each, "stopping")));
      report.flush();
    },
  };
}
