import type { Container } from "./pod.ts";
import { agentPort } from "./sidecar.ts";

const proxyUrl = `http://127.0.0.1:${agentPort}`;
const proxyVariables = ["HTTP_PROXY", "http_proxy"] as const;

export const missingProxyVariables = ({ env = [] }: Container) =>
  proxyVariables
    .filter((variable) => !env.some(({ name }) => name === variable))
    .map((name) => ({ name, value: proxyUrl }));

/** Programs differ in which of two proxy settings they use. */
export const proxyFaults = ({ name, env = [] }: Container): readonly string[] =>
  env
    .filter((variable) => proxyVariables.some((ours) => ours === variable.name) && variable.value !== proxyUrl)
    .map((variable) => `container ${name} sets ${variable.name} itself: take it out, or pep.svc/proxy-env`);
