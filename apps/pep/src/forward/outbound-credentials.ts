import type { IncomingMessage } from "node:http";
import type { HopCredential, HopTaken, TraceHeaders } from "@svc/hop";
import type { InboundCredentials } from "../decide/inbound-credentials.ts";
import { requestHeaders } from "../message/headers.ts";
import type { Credential, Upstream } from "../upstreams/upstream.ts";

/** The credentials of a forwarded call. Without `taken` it is one that observe mode forwards although it was refused. */
export interface OutboundCredentials {
  readonly inbound: InboundCredentials;
  /** The control plane decided, and so verified the agent's token. */
  readonly isDecided: boolean;
  readonly taken?: HopTaken | undefined;
  /** What the hop was taken under, where that is a session beside the agent's. */
  readonly under?: HopCredential | undefined;
}

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
 * The credential headers of a forwarded call: name, value, ... (docs/reference/enforcement-point.md#credentials). An
 * upstream that does not receive the narrowed token receives no other header of ours either.
 */
export function credentialHeaders(
  credential: Credential,
  { inbound, isDecided, taken, under }: OutboundCredentials,
): string[] {
  const { foreignAuthorization } = inbound;
  const own = foreignAuthorization === undefined ? [] : ["authorization", foreignAuthorization];
  const withToken = (header: string) =>
    taken ? [header, `Bearer ${taken.token.accessToken}`, ...companionHeaders(under ?? inbound.credential, taken)] : [];
  switch (credential.kind) {
    case "none":
      return [];
    case "session":
      return isDecided && inbound.credential ? ["x-svc-session", inbound.credential.sessionId] : [];
    case "header":
      return [credential.name, credential.value];
    case "hop_token":
      return taken ? withToken("authorization") : own;
    case "passthrough":
      return [...own, ...withToken("x-svc-authorization")];
    default:
      throw credential satisfies never;
  }
}

const companionHeaders = (
  credential: HopCredential | undefined,
  { transactionToken, identityAssertion }: HopTaken,
): string[] => [
  ...(credential === undefined ? [] : ["x-svc-session", credential.sessionId]),
  ...(transactionToken === undefined ? [] : ["txn-token", transactionToken]),
  ...(identityAssertion === undefined ? [] : ["agent-identity", identityAssertion]),
];

/** Strings that must not come back in a response: our tokens, and an upstream's own secret. */
export const secretsOf = (credential: Credential, taken: HopTaken | undefined): string[] =>
  [
    credential.kind === "header" ? credential.value : undefined,
    taken?.token.accessToken,
    taken?.transactionToken,
    taken?.identityAssertion,
  ].filter((text) => text !== undefined);
