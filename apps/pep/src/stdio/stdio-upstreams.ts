import { randomUUID } from "node:crypto";
import { createEndpoint } from "./endpoint.ts";
import { inProcessDispatcher } from "./in-process-dispatcher.ts";
import { createProcesses, type Processes } from "./processes.ts";
import { createReport } from "./report.ts";
import { maxLineBytes } from "./server-process.ts";
import type { StdioServer } from "./settings.ts";

export type StdioUpstreams = ReturnType<typeof createStdioUpstreams>;

/** The upstreams that are child processes. Equal settings share their processes, so that these outlive a reload. */
export function createStdioUpstreams(log: (line: string) => void, monotonicMs: () => number) {
  const shared = new Map<string, { readonly processes: Processes; users: number }>();
  const acquire = (server: StdioServer) => {
    const key = JSON.stringify(server);
    const found = shared.get(key) ?? {
      processes: createProcesses(server, createReport(server.name, log, monotonicMs), monotonicMs),
      users: 0,
    };
    shared.set(key, found);
    found.users += 1;
    return {
      processes: found.processes,
      async release() {
        found.users -= 1;
        if (found.users > 0) return;
        shared.delete(key);
        await found.processes.close();
      },
    };
  };
  return {
    /** As `Connect` for upstreams with a URL. */
    connect(server: StdioServer) {
      const { processes, release } = acquire(server);
      const handle = createEndpoint({ name: server.name, processes, newId: randomUUID });
      return { ...inProcessDispatcher({ maxBodyBytes: maxLineBytes, handle }), destroy: release };
    },
    /** A session is over: its processes end at once. */
    endSession(session: string): void {
      for (const { processes } of shared.values()) void processes.endSession(session);
    },
  };
}
