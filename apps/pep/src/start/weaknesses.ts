import { isLoopback, type ListenAddress } from "@svc/host";
import { bad, type Finding, good, note } from "@svc/host/finding";
import type { Config, readConfig } from "./config.ts";

/** What a setting gives away, and what to do about it. */
export interface Weakness {
  readonly what: string;
  readonly remedy: string;
}

/** @param at where the proxy listens */
export function weaknesses(
  { controlPlane, sessionFile, listen, publicUrl }: Config,
  at: { readonly address: string; readonly port: number },
): readonly Weakness[] {
  const found: Weakness[] = [];
  const { protocol, hostname } = controlPlane.url;
  if (protocol === "http:" && !isLoopback(hostname)) {
    found.push({
      what: "SVC_CONTROL_PLANE_URL: tokens travel in plain text",
      remedy: "Serve the control plane over TLS, and name its https address.",
    });
  }
  if (sessionFile !== undefined && !isLoopback(listen.host)) {
    found.push({
      what: `SVC_PEP_SESSION_FILE: every client that reaches ${at.address} acts as the agent`,
      remedy: `Set SVC_PEP_LISTEN to 127.0.0.1:${at.port}, or unset the file and have clients present a token.`,
    });
  }
  if (publicUrl?.protocol === "http:" && !isLoopback(publicUrl.hostname)) {
    found.push({
      what: "SVC_PEP_PUBLIC_URL: clients' access tokens travel in plain text",
      remedy: "Serve the enforcement point over TLS by a proxy in front of it, and name its https address.",
    });
  }
  return found;
}

/** What a start with these settings would log. No finding contains a secret. */
export function settingsFindings(result: ReturnType<typeof readConfig>): readonly Finding[] {
  if (!result.ok) {
    const remedy = "Every setting is listed in apps/pep/README.md.";
    return result.faults.map((what) => bad(what, remedy));
  }
  const { config, warnings } = result;
  const found = weaknesses(config, { address: addressOf(config.listen), port: config.listen.port });
  return [
    ...warnings.map((what) => note(what, "Correct it, or remove it.")),
    ...found.map(({ what, remedy }) => bad(what, remedy)),
    ...(found.length > 0 ? [] : [good("the enforcement point's settings give nothing away")]),
  ];
}

const addressOf = ({ host, port }: ListenAddress): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;
