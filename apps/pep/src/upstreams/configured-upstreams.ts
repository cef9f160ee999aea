import { X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";
import { createSecureContext } from "node:tls";
import { watchFiles } from "@svc/host";
import type { PepMode } from "../modes.ts";
import type { Connect, UpstreamConnections } from "./connect-upstream.ts";
import type { Upstream, Upstreams, UpstreamTls } from "./upstream.ts";
import { readUpstreams, type UpstreamsResult } from "./upstreams-file.ts";

export interface ConfiguredUpstreamsOptions {
  readonly file: string;
  readonly defaultMode: PepMode;
  readonly publicUrl: URL | undefined;
  readonly connect: Connect;
  /** A changed configuration is in force. */
  readonly onConfigApplied: (upstreams: Upstreams) => void;
  /** The changed file is invalid and the configuration before stays. One line per fault, without secrets. */
  readonly onConfigRefused: (faults: readonly string[]) => void;
}

export class ConfigurationRefused extends Error {
  override readonly name = "ConfigurationRefused";
  readonly faults: readonly string[];

  constructor(faults: readonly string[]) {
    super("the configuration file is refused");
    this.faults = faults;
  }
}

export type ConfiguredUpstreams = ReturnType<typeof configuredUpstreams>;

/** The upstreams of the configuration file, for as long as the process runs. @throws {ConfigurationRefused} */
export function configuredUpstreams(options: ConfiguredUpstreamsOptions) {
  const { file, connect, onConfigApplied, onConfigRefused } = options;
  let files: readonly string[] = [file];
  const read = (): UpstreamsResult => {
    const result = readUpstreamsFile(options);
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
    /** Reads the file again, changed or not. */
    reload,
    /** From now on changes of the file, and of every file that it names, are applied. */
    watch() {
      watching ??= watchFiles(() => files, reload);
    },
    close(): Promise<void> {
      watching?.stop();
      return live.destroy();
    },
  };
}

export type LiveUpstreams = ReturnType<typeof createLiveUpstreams>;
export type Generation = ReturnType<LiveUpstreams["acquire"]>;

/** The configuration in force. A replaced one stays until its last call is over. */
function createLiveUpstreams(first: Upstreams, connect: Connect) {
  let current = createPools(first, connect);
  const open = new Set([current]);
  const closeIfUnused = (pools: typeof current) => {
    if (pools === current || pools.calls > 0) return;
    open.delete(pools);
    void pools.destroy();
  };
  return {
    current: (): Upstreams => current.upstreams,
    /** The configuration that a call begins with. */
    acquire() {
      const pools = current;
      const { upstreams, dispatcherOf } = pools;
      pools.calls += 1;
      return {
        upstreams,
        dispatcherOf,
        /** Called once, when the call is over. */
        release() {
          pools.calls -= 1;
          closeIfUnused(pools);
        },
      };
    },
    replace(upstreams: Upstreams) {
      const replaced = current;
      current = createPools(upstreams, connect);
      open.add(current);
      closeIfUnused(replaced);
    },
    /** Ends every connection at once; for the end of the process. */
    async destroy() {
      await Promise.all([...open].map((pools) => pools.destroy()));
    },
  };
}

function createPools(upstreams: Upstreams, connect: Connect) {
  const connections = new Map<Upstream, UpstreamConnections>();
  const dispatcherOf = (upstream: Upstream): UpstreamConnections => {
    const made = connections.get(upstream) ?? connect(upstream);
    connections.set(upstream, made);
    return made;
  };
  // Before those of the configuration that it replaces are closed, so that unchanged processes are kept.
  for (const upstream of upstreams.all) if (upstream.stdio) dispatcherOf(upstream);
  return {
    upstreams,
    calls: 0,
    dispatcherOf,
    async destroy() {
      await Promise.all([...connections.values()].map((each) => each.destroy()));
    },
  };
}

function readUpstreamsFile({
  file,
  defaultMode,
  publicUrl,
}: Pick<ConfiguredUpstreamsOptions, "file" | "defaultMode" | "publicUrl">): UpstreamsResult {
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch {
    return { ok: false, faults: [`${file} cannot be read`], files: [] };
  }
  return readUpstreams(text, { defaultMode, publicUrl, tlsFault });
}

/** Why this material cannot be used. Without OpenSSL's own message, which may quote it. */
function tlsFault({ ca, cert, key }: UpstreamTls): string | undefined {
  // A text without a certificate would count as no authority at all, and every call would fail.
  if (ca !== undefined && !isCertificate(ca)) return "ca_file must hold certificates as PEM";
  if (cert === undefined || key === undefined) return undefined;
  if (!isCertificate(cert)) return "cert_file must hold a certificate as PEM";
  try {
    createSecureContext({ cert, key });
    return undefined;
  } catch {
    return "key_file must hold, as PEM, the private key of the certificate in cert_file";
  }
}

function isCertificate(text: string): boolean {
  try {
    return new X509Certificate(text).raw.length > 0;
  } catch {
    return false;
  }
}
