import { readFileSync } from "node:fs";
import { watchFiles } from "@svc/host";
import type { PepMode } from "../modes.ts";
import type { Connect } from "./connect-upstream.ts";
import { createLiveUpstreams, type LiveUpstreams } from "./live-upstreams.ts";
import { tlsFault } from "./tls-fault.ts";
import type { Upstreams } from "./upstream.ts";
import { readUpstreams, type UpstreamsResult } from "./upstreams-file.ts";

export interface ConfiguredUpstreamsOptions {
  readonly file: string;
  readonly defaultMode: PepMode;
  readonly connect: Connect;
  /** A changed configuration is in force. */
  readonly onConfigApplied: (upstreams: Upstreams) => void;
  /** The changed file is invalid and the configuration before stays. One line per fault, without secrets. */
  readonly onConfigRefused: (faults: readonly string[]) => void;
}

/** The configuration file is invalid at the start. */
export class ConfigurationRefused extends Error {
  override readonly name = "ConfigurationRefused";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super("the configuration file is refused");
    this.faults = faults;
  }
}

/** The upstreams of the configuration file, for as long as the process runs. */
export interface ConfiguredUpstreams {
  readonly live: LiveUpstreams;
  /** Reads the file again, changed or not. */
  reload(): void;
  /** From now on changes of the file, and of every file that it names, are applied. */
  watch(): void;
  close(): Promise<void>;
}

/** @throws {ConfigurationRefused} */
export function configuredUpstreams(options: ConfiguredUpstreamsOptions): ConfiguredUpstreams {
  const { file, defaultMode, connect, onConfigApplied, onConfigRefused } = options;
  let files: readonly string[] = [file];
  const read = (): UpstreamsResult => {
    const result = readUpstreamsFile(file, defaultMode);
    files = [file, ...result.files];
    return result;
  };
  const first = read();
  if (!first.ok) throw new ConfigurationRefused(first.faults);
  const live = createLiveUpstreams(first.upstreams, connect);
  const reload = () => {
    const result = read();
    if (!result.ok) return onConfigRefused(result.faults);
    live.replace(result.upstreams);
    onConfigApplied(result.upstreams);
  };
  let watching: ReturnType<typeof watchFiles> | undefined;
  return {
    live,
    reload,
    watch() {
      watching ??= watchFiles(() => files, reload);
    },
    close() {
      watching?.stop();
      return live.destroy();
    },
  };
}

function readUpstreamsFile(file: string, defaultMode: PepMode): UpstreamsResult {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return { ok: false, faults: [`${file} cannot be read`], files: [] };
  }
  return readUpstreams(text, { defaultMode, tlsFault });
}
