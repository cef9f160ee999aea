/**
 * Whether a file of an installed app belongs in its image. Left out: the package manager's own files, sources, types
 * and source maps (unused at run time), and development files of foreign packages. Licences are kept.
 */
export function isKept(path: string): boolean {
  if (isLicence(path)) return true;
  return !packageManagers.test(path) && !forReaders.test(path) && !(isOthers(path) && forTheirAuthors.test(path));
}

const isLicence = (path: string): boolean => /(^|\/)(licen[cs]e|notice|copying)[^/]*$/i.test(path) && !isCode(path);

const isCode = (path: string): boolean => /\.([cm]?[jt]s|map)$/.test(path);

const packageManagers =
  /^(pnpm-lock\.yaml|pnpm-workspace\.yaml|node_modules\/\.[^/]+)($|\/)|(^|\/)node_modules\/\.bin\//;

const forReaders = /\.(map|[cm]?ts|tsx|tsbuildinfo|md|markdown|flow|coffee)$/i;

/** Our own packages list what they ship; the examples of @svc/dev are programs. */
const isOthers = (path: string): boolean => path.startsWith("node_modules/") && !path.startsWith("node_modules/@svc/");

const forTheirAuthors =
  /\/(tests?|__tests__|benchmarks?|examples?|\.github|\.vscode)\/|\/(\.[^/]*rc|\.[^/]*ignore|\.editorconfig|[^/]*\.(yml|html|png|test\.[cm]?js))$/;

/** The members of a package.json that are used here. */
export interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports?: unknown;
  readonly publishConfig?: { readonly exports?: unknown };
  readonly [member: string]: unknown;
}

const forDevelopment = [
  "bin",
  "dependencies",
  "devDependencies",
  "files",
  "optionalDependencies",
  "publishConfig",
  "scripts",
] as const;

/** The package.json of one of our packages in an image: its identity and what Node needs to load it. */
export function imageManifest(manifest: Manifest): Manifest {
  const kept = Object.entries(manifest).filter(([name]) => !(forDevelopment as readonly string[]).includes(name));
  const exports = withoutSources(manifest.publishConfig?.exports ?? manifest.exports);
  return { ...Object.fromEntries(kept), ...(exports === undefined ? {} : { exports }) } as Manifest;
}

/** Exports without the conditions for sources and types. */
function withoutSources(exports: unknown): unknown {
  if (typeof exports !== "object" || exports === null) return exports;
  const entries = Object.entries(exports).filter(([condition]) => condition !== "@svc/source" && condition !== "types");
  return Object.fromEntries(entries.map(([condition, target]) => [condition, withoutSources(target)]));
}
