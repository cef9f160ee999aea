import type { DiscoveryCredentials, SourceAnswer } from "./reconcile.ts";
import type { DiscoveryRead } from "./rows.ts";

/** What a report says of each source. Its URL may contain a secret. */
export const discoveryReport = (answers: readonly SourceAnswer[]): readonly DiscoveryRead[] =>
  answers.map(({ source: { kind, name = null }, origin, discovered: { ok }, facts }) => ({
    kind,
    name,
    origin,
    ok,
    credentials: facts.credentials,
    protocolVersion: facts.protocolVersion ?? null,
    pages: facts.pages ?? null,
  }));

/** One line for people. */
export function discoveryText({ kind, name, origin, ok, credentials, protocolVersion, pages }: DiscoveryRead): string {
  const source = name === null ? origin : `${kind}:${name} at ${origin}`;
  const facts = [
    ok ? "answered" : "gave no whole answer",
    ...(protocolVersion === null ? [] : [`in MCP ${protocolVersion}`]),
  ].join(" ");
  const read = pages === null ? [] : [pages === 1 ? "1 page" : `${pages} pages`];
  return [`${source} ${facts}`, ...read, credentialTexts[credentials]].join(", ");
}

const credentialTexts: Readonly<Record<DiscoveryCredentials, string>> = {
  none: "without a credential",
  sent: "with its credential",
  required: "requires a credential",
};
