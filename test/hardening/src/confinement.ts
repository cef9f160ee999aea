/** What a program may be given beyond reading its own code and the network. */
export interface Needs {
  /** Files, and folders by a slash at their end, that it reads: its code, and what its settings name. */
  readonly reads: readonly string[];
  readonly writes?: readonly string[];
  /** Only for several workers (`SVC_WORKERS`), and for what starts an embedded database. */
  readonly children?: boolean;
}

/**
 * `NODE_OPTIONS` under which a program of ours makes no code from text, and reaches nothing beyond its needs: no file, no
 * child process, no worker thread, no native addon, no inspector (Node: Permissions). The network cannot be narrowed, and
 * `fsync` is taken away altogether, so that an enforcement point must do without `SVC_PEP_STATE_DIR`.
 */
export const confined = ({ reads, writes = [], children = false }: Needs): string =>
  [
    "--disallow-code-generation-from-strings",
    // That the network is a permission of its own is young, and would be said at every start.
    "--disable-warning=ExperimentalWarning",
    "--permission",
    "--allow-net",
    ...reads.map((path) => `--allow-fs-read=${path}`),
    ...writes.map((path) => `--allow-fs-write=${path}`),
    ...(children ? ["--allow-child-process"] : []),
  ].join(" ");
