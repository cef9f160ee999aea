import type { Container } from "./pod.ts";
import { agentPort } from "./sidecar.ts";

const proxyUrl = `http://127.0.0.1:${agentPort}`;
const proxyVariables = ["HTTP_PROXY", "http_proxy"] as const;

export const missingProxyVariables = ({ env = [] }: Container) =>
  proxyVariables
    .filter((variable) => !env.some(({ name }) => name === variable))
    .map((name) => ({ name, value: proxyUrl }));

/** Programs differ in which of several proxy settings they use. A value from elsewhere cannot be judged. */
export function proxyFaults({ name: container, env = [] }: Container): readonly string[] {
  return env.flatMap(({ name, value }) => {
    const reason = reasonAgainst(name.toUpperCase(), value);
    return reason === undefined
      ? []
      : [`container ${container} sets ${name} ${reason}: take it out, or pep.svc/proxy-env`];
  });
}

function reasonAgainst(variable: string, value: string | undefined): string | undefined {
  if (variable === "HTTP_PROXY" && value !== proxyUrl) return "itself";
  if (variable === "ALL_PROXY" && value !== proxyUrl) return "to another proxy, which some programs prefer";
  if (variable === "NO_PROXY" && isEverything(value))
    return "so that calls to every host pass by the enforcement point";
  return undefined;
}

/** One entry that covers every host is enough; a value that comes from elsewhere may be one. */
const isEverything = (list: string | undefined): boolean =>
  list === undefined || list.split(/[,\s]+/).some((entry) => entry === "*" || entry === "." || /\/0$/.test(entry));
