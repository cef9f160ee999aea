import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { connect, createServer, type Server } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { text } from "node:stream/consumers";
import { commandLineOf } from "@svc/host/child-program";
import { notTried } from "../fault.ts";
import { joinSockets } from "./joined-sockets.ts";

/** A network namespace with nothing but loopback, and there the enforcement point's port. */
export interface Isolation {
  /** The command that runs another one inside, as the same user and in the same process. */
  enter(command: readonly string[]): readonly string[];
  stop(): Promise<void>;
}

const relay = import.meta.resolve(`./isolation-relay${import.meta.url.endsWith(".ts") ? ".ts" : ".js"}`);

const without = "Or run without --isolate: then a program that ignores the proxy variables is not held.";
const remedies = {
  linux: `--isolate needs network namespaces, and they are a part of Linux. ${without}`,
  programs: `Install util-linux (unshare, nsenter) and iproute2 (ip). ${without}`,
  kernel: `Let users make namespaces: sysctl user.max_user_namespaces, kernel.unprivileged_userns_clone or kernel.apparmor_restrict_unprivileged_userns; in a container also its seccomp profile. ${without}`,
} as const;

const unshare = ["--user", "--map-current-user", "--keep-caps", "--net", "--", "sh", "-c"];
/** The namespace's loopback is down at first. */
const script = 'ip link set lo up && exec "$@"';

/**
 * Opens the namespace. A relay inside passes bytes over a Unix socket to the same port outside: other programs of this
 * machine, and the network, are not reached. @throws {Fault} where it is not possible here, before anything was started
 * @param port of the enforcement point
 */
export async function openIsolation(port: number): Promise<Isolation> {
  if (process.platform !== "linux") throw notTried("this system has no network namespaces", remedies.linux);
  const folder = await mkdtemp(join(tmpdir(), "svc-run-"));
  const socketPath = join(folder, "pep.sock");
  const outside = await relayed(socketPath, port).catch(async (cause: unknown) => {
    await rm(folder, { recursive: true });
    throw notTried(`${socketPath} cannot be opened`, "Set TMPDIR to a folder with a short path.", cause);
  });
  const command = [process.execPath, ...commandLineOf(relay, [socketPath, String(port)])];
  const child = spawn("unshare", [...unshare, script, "sh", ...command], {
    detached: true,
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  const stop = async () => {
    outside.close();
    await rm(folder, { recursive: true, force: true });
    if (child.exitCode !== null || child.signalCode !== null || child.pid === undefined) return;
    child.kill("SIGKILL");
    await once(child, "exit");
  };
  const enter = (inside: readonly string[]): readonly string[] => [
    ...["nsenter", "--target", String(child.pid), "--user", "--net", "--preserve-credentials", "--", ...inside],
  ];
  try {
    await listening(child);
    await tried(enter(["true"]));
  } catch (cause) {
    await stop();
    throw cause;
  }
  child.channel?.unref();
  return { enter, stop };
}

/** Connections to the socket are connections to the port. */
async function relayed(socketPath: string, port: number): Promise<Server> {
  const server = createServer({ allowHalfOpen: true }, (inside) => {
    const outside = connect({ port, host: "127.0.0.1", allowHalfOpen: true });
    joinSockets(inside, outside);
  });
  server.listen(socketPath).unref();
  await once(server, "listening");
  return server;
}

async function listening(child: ChildProcess): Promise<void> {
  const stderr = child.stderr ? text(child.stderr) : Promise.resolve("");
  const ended = once(child, "exit").then(
    async () => {
      const why = (await stderr).trim();
      const remedy = why.includes("not found") ? remedies.programs : remedies.kernel;
      throw notTried(`the network namespace cannot be made: ${why}`, remedy);
    },
    (cause: unknown) => {
      throw notTried("unshare cannot be run", remedies.programs, cause);
    },
  );
  await Promise.race([new Promise((resolve) => child.once("message", resolve)), ended]);
}

async function tried([file = "", ...args]: readonly string[]): Promise<void> {
  const child = spawn(file, args, { stdio: ["ignore", "ignore", "pipe"] });
  const stderr = text(child.stderr);
  const [code] = await once(child, "exit").catch((cause: unknown) => {
    throw notTried("nsenter cannot be run", remedies.programs, cause);
  });
  if (code !== 0) throw notTried(`the network namespace cannot be entered: ${(await stderr).trim()}`, remedies.kernel);
}
