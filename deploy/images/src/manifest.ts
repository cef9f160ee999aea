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

/**
 * The package.json of one of our packages in an image: its identity and what Node needs to load it, without build paths,
 * sources and development dependencies.
 */
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
