export type DiscoveryFaultKind = keyof typeof sentences;

export class DiscoveryFault extends Error {
  readonly kind: DiscoveryFaultKind;

  constructor(kind: DiscoveryFaultKind, options: ErrorOptions = {}) {
    super(kind, options);
    this.kind = kind;
  }
}

const andRetry = "submit again, or submit with an override that says why the manifest can be trusted.";

const sentences = {
  address_refused: `is at an internal address. Admit its host or network with SVC_DISCOVERY_ALLOW and ${andRetry}`,
  unreachable: `could not be reached. Make it reachable from the control plane and ${andRetry}`,
  timeout: `did not answer in time. Make it answer within 5 seconds and ${andRetry}`,
  redirect: `answered with a redirect, which discovery does not follow. Name the final address and ${andRetry}`,
  credentials: `requires credentials. Give its origin a header value in SVC_DISCOVERY_CREDENTIALS_FILE and ${andRetry}`,
  status: `answered with an error status. Correct the address or the server and ${andRetry}`,
  protocol: `completed neither MCP's server/discover nor its initialize in a protocol version that discovery speaks (2024-10-07 to 2026-07-28). Let it speak one of these and ${andRetry}`,
  too_large: `answered with more than 1 MiB, or compressed. Shorten its answer and ${andRetry}`,
  too_many_pages: `lists its tools on more than 10 pages, of which discovery read 10. Use larger pages and ${andRetry}`,
  unreadable: `answered with something else than its kind of discovery. Correct its answer or the manifest and ${andRetry}`,
};

export const refusalOf = (status: number): DiscoveryFaultKind =>
  status === 401 || status === 403 ? "credentials" : "status";

/** Names the host, never the whole URL, which may contain a secret. */
export const remedyFor = (host: string, kind: DiscoveryFaultKind): string => `${host} ${sentences[kind]}`;

/** Finds the fault in an error that fetch or a client wrapped. Any other error is of an answer that is unreadable. */
export function faultBehind(error: unknown): DiscoveryFault | undefined {
  for (let current = error; current instanceof Error; current = current.cause) {
    if (current instanceof DiscoveryFault) return current;
  }
  return undefined;
}
