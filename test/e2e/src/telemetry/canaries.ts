import type { Api } from "@svc/test-conformance/api";
import { testBearers } from "@svc/test-support";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import type { Tool } from "./tool.ts";

const tokenPattern = /eyJ[\w-]+\.[\w-]+\.[\w-]*/g;

/**
 * Everything in requests and responses that telemetry must not contain: every token with its `jti` and signature,
 * bearers, keys, and names chosen to be found again.
 */
export function canariesOf(apis: readonly Api[], { requests }: Tool, names: readonly string[]): ReadonlySet<string> {
  const heard = [
    ...apis.flatMap(({ calls }) => calls.map(({ init, answer }) => JSON.stringify(init) + answer.text)),
    ...requests.map(({ rawHeaders }) => rawHeaders.join(" ")),
  ].join("\n");
  const tokens = new Set(heard.match(tokenPattern));
  const jtis = [...tokens].flatMap((token) => decodeUnverifiedHopToken(token)?.jti ?? []);
  const others = [...heard.matchAll(/"(?:params_hash|challenge|enroll_token|kid|x|y)\\?":\\?"([^"\\]{20,})/g)].map(
    ([, secret = ""]) => secret,
  );
  const signatures = [...tokens].map((token) => token.slice(token.lastIndexOf(".") + 1)).filter(Boolean);
  return new Set([...tokens, ...signatures, ...jtis, ...others, ...Object.values(testBearers), ...names]);
}

/** Those that occur in the text. */
export const found = (text: string, canaries: ReadonlySet<string>): string[] =>
  [...canaries].filter((canary) => text.includes(canary));
