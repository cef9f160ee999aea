import type { Child } from "@svc/test-support";

/** A process of the service that is restarted at the same address, as an orchestrator does. */
export interface Restartable {
  readonly name: string;
  readonly port: number;
  /** Of that port, without a path. */
  readonly url: string;
  pid(): number;
  /** All output of the current process. */
  output(): string;
  hasExited(): boolean;
  /** SIGKILL. */
  kill(): Promise<void>;
  /** SIGTERM, and time to drain. */
  shutDown(): Promise<void>;
  /** Resolves when it is ready. */
  start(): Promise<void>;
}

export async function startRestartable(
  name: string,
  url: string,
  launch: () => Promise<Pick<Child, "pid" | "kill" | "exited" | "output" | "hasExited">>,
): Promise<Restartable> {
  let child = await launch();
  const end = async (signal: NodeJS.Signals) => {
    child.kill(signal);
    await child.exited;
  };
  return {
    name,
    port: Number(new URL(url).port),
    url,
    pid: () => child.pid,
    output: () => child.output(),
    hasExited: () => child.hasExited(),
    kill: () => end("SIGKILL"),
    shutDown: () => end("SIGTERM"),
    async start() {
      child = await launch();
    },
  };
}
