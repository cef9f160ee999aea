import type { Events } from "../events.ts";
import type { Config } from "../start/config.ts";
import { connectUpstreams } from "./connect-upstream.ts";
import { liveConfig } from "./live-config.ts";
import { createLiveUpstreams, type LiveUpstreams } from "./live-upstreams.ts";
import type { Upstreams } from "./upstream.ts";

/** The upstreams of the configuration file, for as long as the process runs. */
export interface ConfiguredUpstreams {
  readonly live: LiveUpstreams;
  /** Reads the file again. */
  reload(): void;
  /** The listener serves: tells so, and takes up changes from now on. */
  serve(): void;
  close(): Promise<void>;
}

/** @throws {ConfigurationRefused} */
export function configuredUpstreams(
  { configFile: file, mode: defaultMode, egress }: Config,
  events: Events,
  tell: (line: string) => void,
): ConfiguredUpstreams {
  const announce = ({ all }: Upstreams) => {
    events.serving(all.length === 0 ? [defaultMode] : all.map(({ mode }) => mode));
  };
  const configuration = liveConfig({
    file,
    defaultMode,
    onTaken(taken) {
      live.replace(taken);
      announce(taken);
      events.configurationTaken();
    },
    onRefused(faults) {
      events.configurationRefused();
      for (const fault of faults) tell(`${file}: ${fault}`);
    },
  });
  const live = createLiveUpstreams(configuration.first, connectUpstreams(egress));
  return {
    live,
    reload: configuration.reload,
    serve() {
      configuration.watch();
      announce(live.current);
    },
    close() {
      configuration.stop();
      return live.destroy();
    },
  };
}
