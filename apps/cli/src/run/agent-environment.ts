import { type Environment, isLoopback, withoutSettings } from "@svc/host";
import type { Trust } from "./trust.ts";

export interface AgentEnvironmentOptions {
  readonly pepUrl: string;
  readonly trust: Trust;
  /** That upstreams list. */
  readonly hosts: readonly string[];
}

/**
 * The environment of a command whose HTTP clients call through the enforcement point, and trust its authority. None of the
 * operator's own exceptions to a proxy stay: these hosts would be called past it.
 */
export function agentEnvironment(
  environment: Environment,
  { pepUrl, trust, hosts }: AgentEnvironmentOptions,
): Record<string, string> {
  const baseName = baseNameFor(hosts);
  const { port, hostname } = new URL(pepUrl);
  return {
    ...withoutSettings(environment),
    ...inBothCases({ HTTP_PROXY: pepUrl, HTTPS_PROXY: pepUrl, NO_PROXY: baseName ?? "" }),
    // Of fetch and node:http, which ignore the variables above without it.
    NODE_USE_ENV_PROXY: "1",
    ...trust.variables,
    JAVA_TOOL_OPTIONS: [environment.JAVA_TOOL_OPTIONS, ...javaOptions(hostname, port, baseName, trust)]
      .filter(Boolean)
      .join(" "),
    ...(baseName !== undefined && { SVC_PEP_URL: `http://${baseName}:${port}` }),
  };
}

const inBothCases = (variables: Readonly<Record<string, string>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(variables).flatMap(([name, value]) => [
      [name, value],
      [name.toLowerCase(), value],
    ]),
  );

/**
 * The enforcement point serves path prefixes in origin form only, so that one loopback name is called directly: one under
 * which no upstream is listed. Undefined where there is none.
 */
function baseNameFor(hosts: readonly string[]): string | undefined {
  const listed = hosts.map((host) => host.replace(/:\d+$/, "").toLowerCase()).filter(isLoopback);
  return ["localhost", "127.0.0.1"].find((name) => !listed.includes(name));
}

function javaOptions(
  host: string,
  port: string,
  direct: string | undefined,
  { javaTrustStore }: Trust,
): readonly string[] {
  const proxies = ["http", "https"].flatMap((scheme) => [
    `-D${scheme}.proxyHost=${host}`,
    `-D${scheme}.proxyPort=${port}`,
  ]);
  const store = [`-Djavax.net.ssl.trustStore=${javaTrustStore}`, "-Djavax.net.ssl.trustStoreType=JKS"];
  return [...proxies, `-Dhttp.nonProxyHosts=${direct ?? ""}`, ...store].map(quoted);
}

/** The JVM splits the variable at blanks, and reads quotes. */
const quoted = (option: string): string => (/\s/.test(option) ? `"${option}"` : option);
