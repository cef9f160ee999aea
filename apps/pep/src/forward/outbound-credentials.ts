import type { Credential } from "../upstreams/upstream.ts";

/** What the control plane granted for one call, and nobody else. */
export interface Grant {
  readonly sessionId: string;
  readonly accessToken: string;
  /** For a privileged target: bound to the very body. */
  readonly transactionToken?: string;
  readonly identityAssertion?: string;
}

/** What a call goes out with. Without a grant it is one that observe mode forwards all the same. */
export interface Carried {
  readonly grant?: Grant;
  readonly foreignAuthorization?: string;
}

/**
 * The credential headers of a forwarded call: name, value, ... (contract: What happens to a call). An upstream that
 * is not shown the narrowed token knows nothing of us, so it is shown nothing else of ours either.
 */
export function credentialHeaders(credential: Credential, { grant, foreignAuthorization }: Carried): string[] {
  switch (credential.kind) {
    case "none":
      return [];
    case "header":
      return [credential.name, credential.value];
    case "hop_token":
      return grant ? ["authorization", `Bearer ${grant.accessToken}`, ...besides(grant)] : own(foreignAuthorization);
    case "passthrough":
      return [
        ...own(foreignAuthorization),
        ...(grant ? ["x-svc-authorization", `Bearer ${grant.accessToken}`, ...besides(grant)] : []),
      ];
    default:
      throw credential satisfies never;
  }
}

const own = (authorization: string | undefined): string[] =>
  authorization === undefined ? [] : ["authorization", authorization];

const besides = ({ sessionId, transactionToken, identityAssertion }: Grant): string[] => [
  ...["x-svc-session", sessionId],
  ...(transactionToken === undefined ? [] : ["txn-token", transactionToken]),
  ...(identityAssertion === undefined ? [] : ["agent-identity", identityAssertion]),
];

/** What must not come back in a response: our tokens, and an upstream's own secret. */
export const secretsOf = (credential: Credential, { grant }: Carried): string[] =>
  [
    credential.kind === "header" ? credential.value : undefined,
    grant?.accessToken,
    grant?.transactionToken,
    grant?.identityAssertion,
  ].filter((text) => text !== undefined);
