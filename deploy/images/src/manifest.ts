/** As much of a package.json as is read or written here. */
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

/**
 * The package.json of one of our packages as it stands in an image: what Node reads to load it, and who it is. Nothing
 * tells where it was built, or names a source or a development dependency that is not there.
 */
export function imageManifest(manifest: Manifest): Manifest {
  const kept = Object.entries(manifest).filter(([name]) => !(forDevelopment as readonly string[]).includes(name));
  const exports = withoutSources(manifest.publishConfig?.exports ?? manifest.exports);
  return { ...Object.fromEntries(kept), ...(exports === undefined ? {} : { exports }) } as Manifest;
}

/** Conditional exports without the ones that lead to sources and types. */
function withoutSources(exports: unknown): unknown {
  if (typeof exports !== "object" || exports === null) return exports;
  const entries = Object.entries(exports).filter(([condition]) => condition !== "@svc/source" && condition !== "types");
  return Object.fromEntries(entries.map(([condition, target]) => [condition, withoutSources(target)]));
}
