import { readFileSync } from "node:fs";
import { type Environment, sharedSettings } from "@svc/settings";
import { parse, stringify } from "yaml";
import { type Config, pepSettings } from "./config.ts";
import { ConfigurationRefused } from "./live-config.ts";
import { readUpstreams } from "./upstreams-file.ts";
import { upstreamsFile } from "./upstreams-schema.ts";

const redacted = "(set, not shown)";

/**
 * The settings and upstreams in force as YAML, defaults filled in. What a secret setting holds is not shown, and no file
 * that the upstreams name is read into it.
 *
 * @throws {ConfigurationRefused} where the upstreams file does not hold
 */
export function printedConfig(config: Config, environment: Environment): string {
  const text = readFileSync(config.configFile, "utf8");
  const readFile = (path: string) => readFileSync(path, "utf8");
  const read = readUpstreams(text, { defaultMode: config.mode, readFile });
  if (!read.ok) throw new ConfigurationRefused(read.faults);
  const { upstreams } = upstreamsFile.parse(parse(text));
  return stringify({
    settings: settingsInForce(environment),
    upstreams: upstreams.map((upstream) => ({ ...upstream, mode: upstream.mode ?? config.mode })),
  });
}

function settingsInForce(environment: Environment): Record<string, string> {
  const table = { ...pepSettings, ...sharedSettings };
  const entries = Object.entries(table).flatMap(([name, { secret, defaultText }]) => {
    const isGiven = Boolean(environment[name] || (secret && environment[`${name}_FILE`]));
    if (isGiven) return [[name, secret ? redacted : (environment[name] ?? "")]];
    return defaultText === undefined ? [] : [[name, defaultText]];
  });
  return Object.fromEntries(entries);
}
