import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, isThere, startChild, waitUntil } from "@svc/test-support";

/**
 * Whether this machine lets a test act as a container runtime: only root may make namespaces and mounts and change the
 * user.
 */
const canContain = isThere("container rights");

export const how = canContain
  ? "as uid 10001 without capabilities, as process 1, on a read-only file system"
  : "as this user on a writable file system, since only root may contain it";

export interface Contained {
  /** The tree: `/app` of the image. */
  readonly tree: string;
  /** The test's own folder, for mount points. */
  readonly work: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Folders in memory, like a container's tmpfs; all else is read-only. */
  readonly writable?: readonly string[];
}

/** Everything is read-only from here on; the last line execs the program, without a shell between. */
const script = `set -e
node=$1; app=$2; shift 2
for folder in $WRITABLE; do mount -t tmpfs -o mode=1777,size=1m tmpfs "$folder"; done
mount --bind "$NODE" "$node"
mount -o remount,bind,ro "$node"
mount -o remount,bind,ro /
cd "$app"
unset NODE WRITABLE PWD OLDPWD
exec setpriv --reuid=10001 --regid=10001 --clear-groups --no-new-privs --bounding-set=-all --inh-caps=-all "$node" "$@"
`;

/** Starts a program of a tree as a container runtime would. */
export function startContained({ tree, work, args, env, writable = [] }: Contained): Child {
  if (!canContain) return startChild(process.execPath, args, { cwd: tree, env });
  chmodSync(work, 0o755);
  for (const folder of writable) mkdirSync(folder, { recursive: true });
  // Node's folder may be private: it is mounted at its own path.
  const node = join(work, "node");
  writeFileSync(node, "");
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"];
  return startChild("unshare", [...namespaces, "sh", "-c", script, "sh", node, tree, ...args], {
    env: { ...env, PATH: process.env.PATH, NODE: process.execPath, WRITABLE: writable.join(" ") },
  });
}

/** Sends SIGTERM to the program itself, as a runtime stops a container, and returns its exit. */
export async function stopContained(child: Child): Promise<number | NodeJS.Signals> {
  if (!canContain) return child.stop();
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
  process.kill(Number(children), "SIGTERM");
  await waitUntil("the program to exit", () => child.hasExited());
  return child.exited;
}
