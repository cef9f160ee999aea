import { chmodSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type Child, isThere, startChild, waitUntil } from "@svc/test-support";

/**
 * Whether this machine lets a test do what a container runtime does: only root may make namespaces and mounts and
 * become somebody else.
 */
const canContain = isThere("container rights");

export const how = canContain
  ? "as uid 10001 without capabilities, as process 1, on a read-only file system"
  : "as this user on a writable file system, since only root may contain it";

export interface Contained {
  /** The tree: `/app` of the image. */
  readonly tree: string;
  /** A folder of the test's own, to make mount points in. */
  readonly work: string;
  readonly args: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  /** Folders that are memory, as a tmpfs of a container is; all else is read-only. */
  readonly writable?: readonly string[];
}

/** Everything is read-only from here on; the last line becomes the program, without a shell between. */
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
  // Where Node lies may be somebody's private folder: it is seen at a place of its own.
  const node = join(work, "node");
  writeFileSync(node, "");
  const namespaces = ["--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc"];
  return startChild("unshare", [...namespaces, "sh", "-c", script, "sh", node, tree, ...args], {
    env: { ...env, PATH: process.env.PATH, NODE: process.execPath, WRITABLE: writable.join(" ") },
  });
}

/** SIGTERM to the program itself, as a runtime stops a container, and what it ended with. */
export async function stopContained(child: Child): Promise<number | NodeJS.Signals> {
  if (!canContain) return child.stop();
  const children = readFileSync(`/proc/${child.pid}/task/${child.pid}/children`, "utf8").trim();
  process.kill(Number(children), "SIGTERM");
  await waitUntil("the program to end", () => child.hasExited());
  return child.exited;
}
