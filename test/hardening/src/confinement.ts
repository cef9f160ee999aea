/** A program's permissions beyond reading its own code and the network. */
export interface Needs {
  /** Files and (with a trailing slash) folders that it reads: its code, and paths of its settings. */
  readonly reads: readonly string[];
  readonly writes?: readonly string[];
  /** Only for several workers (`SVC_WORKERS`), and for an embedded database. */
  readonly children?: boolean;
}

/**
 * `NODE_OPTIONS` under which a program evaluates no text as code and reaches nothing beyond its needs: no file, child
 * process, worker thread, native addon or inspector (Node: Permissions). The network cannot be narrowed, and `fsync` is
 * refused altogether, so that an enforcement point must run without `SVC_PEP_STATE_DIR`.
 */
export const confined = ({ reads, writes = [], children = false }: Needs): string =>
  [
    "--disallow-code-generation-from-strings",
    // Node prints a warning for the network permission at every start.
    "--disable-warning=ExperimentalWarning",
    "--permission",
    "--allow-net",
    ...reads.map((path) => `--allow-fs-read=${path}`),
    ...writes.map((path) => `--allow-fs-write=${path}`),
    ...(children ? ["--allow-child-process"] : []),
  ].join(" ");
