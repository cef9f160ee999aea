import { readFileSync } from "node:fs";
import { watchFiles } from "@svc/host";
import type { PepMode } from "../modes.ts";
import { tlsFault } from "./tls-fault.ts";
import type { Upstreams } from "./upstream.ts";
import { readUpstreams } from "./upstreams-file.ts";

export interface LiveConfigOptions {
  readonly file: string;
  readonly defaultMode: PepMode;
  /** A new configuration is in force. */
  readonly onTaken: (upstreams: Upstreams) => void;
  /** The file does not hold; what was in force stays. One line per fault, which may quote names but no secret. */
  readonly onRefused: (faults: readonly string[]) => void;
}

/** The first reading of the file must hold. */
export class ConfigurationRefused extends Error {
  override readonly name = "ConfigurationRefused";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super("the configuration file is refused");
    this.faults = faults;
  }
}

export interface LiveConfig {
  readonly first: Upstreams;
  /** Reads the file again whether it changed or not; for SIGHUP. */
  reload(): void;
  /** From now on, changes are taken up by themselves. */
  watch(): void;
  stop(): void;
}

/**
 * The upstreams file and every file that it names, taken whole or not at all.
 *
 * @throws {ConfigurationRefused}
 */
export function liveConfig({ file, defaultMode, onTaken, onRefused }: LiveConfigOptions): LiveConfig {
  let named: readonly string[] = [];
  const read = () => {
    const text = textOf(file);
    if (text === undefined) return { ok: false, faults: [`${file} cannot be read`] } as const;
    const readFile = (path: string) => readFileSync(path, "utf8");
    const result = readUpstreams(text, { defaultMode, readFile, tlsFault });
    named = result.files;
    return result;
  };
  const reload = () => {
    const result = read();
    if (result.ok) onTaken(result.upstreams);
    else onRefused(result.faults);
  };
  const first = read();
  if (!first.ok) throw new ConfigurationRefused(first.faults);
  let watching: { stop(): void } | undefined;
  return {
    first: first.upstreams,
    reload,
    watch() {
      watching ??= watchFiles(() => [file, ...named], reload);
    },
    stop: () => watching?.stop(),
  };
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined;
  }
}
