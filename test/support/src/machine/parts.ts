import { spawnSync } from "node:child_process";
import { globSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { foldersOnPath, isExecutable, onPath } from "./on-path.ts";

/** What tests need of the machine besides Node and the workspace. */
export interface Part {
  /** Completes "Tests use it to ...". */
  readonly purpose: string;
  /** Debian's package. Without it the part is a right of the account or a feature of the kernel. */
  readonly package?: string;
  /** How to get one that no package of Debian is installed for. Default: as root. */
  readonly advice?: string;
  /** Needed by `pnpm faults`, not by the test command. */
  readonly onDemand?: true;
  /** The path of its program, folder or library; undefined where it is missing. */
  readonly find: () => string | undefined;
}

export const partNames = [
  "redis-server",
  "chromium",
  "promtool",
  "postgresql",
  "pgbouncer",
  "openssl",
  "ip",
  "jq",
  "nginx",
  "lighttpd",
  "python3",
  "curl",
  "java",
  "PyJWT",
  "script",
  "nft",
  "libfaketime",
  "network namespaces",
  "user namespaces",
  "mounts",
  "container rights",
] as const;
export type PartName = (typeof partNames)[number];

export const parts: Readonly<Record<PartName, Part>> = {
  "redis-server": {
    purpose: "run the service on a real cache store",
    package: "redis-server",
    find: () => onPath("redis-server", "valkey-server"),
  },
  chromium: {
    purpose: "use the console in a browser",
    package: "chromium",
    find: () => onPath("chromium", "chromium-browser", "google-chrome-stable", "google-chrome"),
  },
  promtool: {
    purpose: "check metrics, alerts and dashboards",
    package: "prometheus",
    find: () => onPath("promtool"),
  },
  postgresql: {
    purpose: "run standbys and backups, whose programs the embedded server lacks",
    package: "postgresql",
    find: postgresPrograms,
  },
  pgbouncer: {
    purpose: "reach PostgreSQL through a pooler",
    package: "pgbouncer",
    find: () => onPath("pgbouncer") ?? (isExecutable("/usr/sbin/pgbouncer") ? "/usr/sbin/pgbouncer" : undefined),
  },
  openssl: { purpose: "make certificates", package: "openssl", find: () => onPath("openssl") },
  ip: { purpose: "give control planes networks of their own", package: "iproute2", find: () => onPath("ip") },
  jq: { purpose: "run the printed examples that pipe into it", package: "jq", find: () => onPath("jq") },
  nginx: { purpose: "serve paths as nginx reads them", package: "nginx-light", find: () => onPath("nginx") },
  lighttpd: { purpose: "serve paths as lighttpd reads them", package: "lighttpd", find: () => onPath("lighttpd") },
  python3: {
    purpose: "run a server of its standard library as an upstream",
    package: "python3",
    find: () => onPath("python3"),
  },
  curl: {
    purpose: "call as a program that was not written for this",
    package: "curl",
    find: () => onPath("curl"),
  },
  java: {
    purpose: "call as a Java program",
    advice: "install a JDK",
    // It compiles the one file that it runs.
    find: () => onPath("javac") && onPath("java"),
  },
  PyJWT: {
    purpose: "verify tokens in Python",
    advice: "install Debian's python3-jwt and python3-cryptography",
    find: () => working("sh", "-c", "/usr/bin/python3 -c 'import jwt, cryptography'"),
  },
  script: { purpose: "give a command a terminal", package: "bsdutils", find: () => onPath("script") },
  nft: { purpose: "drop packets", package: "nftables", onDemand: true, find: () => working("nft", "list", "tables") },
  libfaketime: {
    purpose: "step a process's clock",
    package: "libfaketime",
    onDemand: true,
    find: () => globSync("/usr/lib/*/faketime/libfaketimeMT.so.1")[0],
  },
  "network namespaces": {
    purpose: "cut a process off its network",
    find: () => working("unshare", "--net", "--mount", "mount", "--bind", "/tmp", "/tmp"),
  },
  "user namespaces": {
    purpose: "run a program in a network of its own, as any user",
    find: () =>
      working("unshare", "--user", "--map-current-user", "--keep-caps", "--net", "ip", "link", "set", "lo", "up"),
  },
  mounts: {
    purpose: "fill a disk",
    find: () => working("unshare", "--mount", "mount", "-t", "tmpfs", "tmpfs", "/mnt"),
  },
  "container rights": {
    purpose: "start a program as a container runtime does",
    find: () =>
      process.getuid?.() === 0
        ? working("unshare", "--mount", "--pid", "--fork", "mount", "-o", "remount,bind,ro", "/")
        : undefined,
  },
};

/** How to get parts, in a few words: `apt-get install chromium prometheus`. */
export function howToGet(names: readonly PartName[]): string {
  const packages = names.flatMap((name) => parts[name].package ?? []);
  const installed = packages.length > 0 ? [`apt-get install ${packages.join(" ")}`] : [];
  const others = names.filter((name) => parts[name].package === undefined);
  return [...installed, ...new Set(others.map((name) => parts[name].advice ?? "run as root"))].join(", ");
}

/** Suffix for the name of a test that is skipped without these parts. */
export const skipSuffix = (missing: readonly PartName[]): string => ` (skipped: needs ${missing.join(" and ")})`;

/** The missing parts in the name of a skipped test. */
export const missingPartsOf = (testName: string): string[] =>
  /\(skipped: needs ([^)]+)\)/.exec(testName)?.[1]?.split(" and ") ?? [];

/** The program, where it succeeds with these arguments. */
const working = (name: string, ...args: readonly string[]): string | undefined =>
  spawnSync(name, args, { stdio: "ignore" }).status === 0 ? onPath(name) : undefined;

/** The folder of a PostgreSQL with all its programs: Debian's newest release, else one on the PATH. */
function postgresPrograms(): string | undefined {
  return [...debianReleases(), ...foldersOnPath()].find((folder) =>
    ["postgres", "initdb", "pg_basebackup"].every((name) => isExecutable(join(folder, name))),
  );
}

function debianReleases(): string[] {
  const releases = "/usr/lib/postgresql";
  try {
    const versions = readdirSync(releases).sort((one, other) => Number(other) - Number(one));
    return versions.map((version) => join(releases, version, "bin"));
  } catch {
    return [];
  }
}
