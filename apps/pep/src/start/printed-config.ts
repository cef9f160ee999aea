import { readFileSync } from "node:fs";
import { type Environment, sharedSettings } from "@svc/host";
import { parse, stringify } from "yaml";
import { ConfigurationRefused } from "../upstreams/configured-upstreams.ts";
import type { EgressProxies } from "../upstreams/connect-upstream.ts";
import { readUpstreams, upstreamsFile } from "../upstreams/upstreams-file.ts";
import { type Config, pepSettings } from "./config.ts";

const redacted = "(set, not shown)";

/**
 * Settings, proxies and upstreams in force as YAML, with defaults. Contains no secret setting, no credentials of a proxy's
 * URL and no content of a file that the upstreams name.
 * @throws {ConfigurationRefused} if the upstreams file is invalid
 */
export function printedConfig(config: Config, environment: Environment): string {
  const text = readFileSync(config.configFile, "utf8");
  const read = readUpstreams(text, { defaultMode: config.mode, publicUrl: config.publicUrl });
  if (!read.ok) throw new ConfigurationRefused(read.faults);
  const { upstreams } = upstreamsFile.parse(parse(text));
  return stringify({
    settings: settingsInForce(environment),
    ...(config.egress && { proxies: proxiesInForce(config.egress) }),
    upstreams: upstreams.map((upstream) => ({
      ...upstream,
      mode: upstream.mode ?? config.mode,
      ...("env" in upstream && { env: withoutValues(upstream.env) }),
    })),
  });
}

/** A variable of a server over stdio may be a secret; the name of its file is none. */
const withoutValues = (env: Readonly<Record<string, unknown>> = {}): Record<string, unknown> =>
  Object.fromEntries(Object.entries(env).map(([name, value]) => [name, typeof value === "string" ? redacted : value]));

function settingsInForce(environment: Environment): Record<string, string> {
  const table = { ...pepSettings, ...sharedSettings };
  const entries = Object.entries(table).flatMap(([name, { secret, defaultText }]) => {
    const isGiven = Boolean(environment[name] || (secret && environment[`${name}_FILE`]));
    if (isGiven) return [[name, secret ? redacted : (environment[name] ?? "")]];
    return defaultText === undefined ? [] : [[name, defaultText]];
  });
  return Object.fromEntries(entries);
}

function proxiesInForce({ httpProxy, httpsProxy, noProxy }: EgressProxies): Record<string, string> {
  const named = { HTTP_PROXY: addressOf(httpProxy), HTTPS_PROXY: addressOf(httpsProxy), NO_PROXY: noProxy };
  return Object.fromEntries(Object.entries(named).filter(([, value]) => value !== ""));
}

function addressOf(proxy: string): string {
  const url = URL.parse(proxy);
  if (url === null) return "";
  const hasCredentials = url.username !== "" || url.password !== "";
  return `${url.protocol}//${url.host}${hasCredentials ? ` (its credentials are set, not shown)` : ""}`;
}
