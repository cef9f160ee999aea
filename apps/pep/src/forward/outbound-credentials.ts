import type { IncomingMessage } from "node:http";
import type { TraceHeaders } from "@svc/hop";
import type { Grant, OutboundCredentials } from "../decide/grant.ts";
import { requestHeaders } from "../message/headers.ts";
import type { Credential, Upstream } from "../upstreams/upstream.ts";

/** The headers of a forwarded call; `more` are our own for this call. */
export const outgoingHeaders = (
  { rawHeaders, httpVersion }: Pick<IncomingMessage, "rawHeaders" | "httpVersion">,
  { host, credential }: Upstream,
  trace: TraceHeaders,
  outbound: OutboundCredentials,
  more: readonly string[] = [],
): string[] =>
  requestHeaders(rawHeaders, httpVersion, [
    ...["host", host],
    ...more,
    ...Object.entries(trace).flat(),
    ...credentialHeaders(credential, outbound),
  ]);

/**
 * The credential headers of a forwarded call: name, value, ... (contract: What happens to a call). An upstream that
 * is not shown the narrowed token knows nothing of us, so it is shown nothing else of ours either.
 */
export function credentialHeaders(
  credential: Credential,
  { grant, foreignAuthorization }: OutboundCredentials,
): string[] {
  switch (credential.kind) {
    case "none":
      return [];
    case "header":
      return [credential.name, credential.value];
    case "hop_token":
      return grant
        ? ["authorization", `Bearer ${grant.accessToken}`, ...companionHeaders(grant)]
        : own(foreignAuthorization);
    case "passthrough":
      return [
        ...own(foreignAuthorization),
        ...(grant ? ["x-svc-authorization", `Bearer ${grant.accessToken}`, ...companionHeaders(grant)] : []),
      ];
    default:
      throw credential satisfies never;
  }
}

const own = (authorization: string | undefined): string[] =>
  authorization === undefined ? [] : ["authorization", authorization];

const companionHeaders = ({ sessionId, transactionToken, identityAssertion }: Grant): string[] => [
  ...["x-svc-session", sessionId],
  ...(transactionToken === undefined ? [] : ["txn-token", transactionToken]),
  ...(identityAssertion === undefined ? [] : ["agent-identity", identityAssertion]),
];

/** What must not come back in a response: our tokens, and an upstream's own secret. */
export const secretsOf = (credential: Credential, { grant }: OutboundCredentials): string[] =>
  [
    credential.kind === "header" ? credential.value : undefined,
    grant?.accessToken,
    grant?.transactionToken,
    grant?.identityAssertion,
  ].filter((text) => text !== undefined);
