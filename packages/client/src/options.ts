import { agentName } from "@svc/core";
import { type AgentProver, agentProver } from "@svc/hop";
import { importAgentKey, type PrivateJwk, type SigningKey } from "@svc/tokens";

/** Settings of the client (docs/reference/client.md#behaviour). */
export interface AuthzClientOptions {
  /** The control plane's base address, http or https; a path in it is kept. */
  readonly baseUrl: string;
  /** For consent and the admin plane. */
  readonly adminToken?: string | undefined;
  /** For the audit plane; default `adminToken`. */
  readonly auditToken?: string | undefined;
  /** For reading identities; default `auditToken`, then `adminToken`. */
  readonly identityToken?: string | undefined;
  /** Seconds that one call may take, all its requests to the control plane together. Default 5.0. */
  readonly timeout?: number | undefined;
  /**
   * A file or folder for the recorder of the drift gate: one call edge per authorize call. Default: the environment
   * variable `SVC_TRACE_PATH`; empty: none.
   */
  readonly tracePath?: string | undefined;
  /** The recorded scope of sessions whose hop-1 token this client never saw. */
  readonly traceScope?: string | undefined;
  /**
   * The agent's private key (ES256 or Ed25519): a JWK, its JSON text, a PKCS#8 PEM, or a `SigningKey`. With it every
   * exchange, renewal and mint carries a proof of possession, and every grant an identity assertion. Requires
   * `agentName`.
   */
  readonly identityKey?: string | PrivateJwk | SigningKey | undefined;
  /** The registered name of the agent. Requires `identityKey`. */
  readonly agentName?: string | undefined;
  /** Seconds without a call after which a context keeps only what it needs to go on until its session ends. Default 300. */
  readonly renewalIdleSeconds?: number | undefined;
  /** Default: the runtime's own. */
  readonly fetch?: typeof globalThis.fetch | undefined;
}

/** @throws {TypeError} outside 0 to a day, which a timer accepts */
export function timeoutMsOf({ timeout = 5 }: AuthzClientOptions): number {
  if (!(timeout > 0 && timeout <= 86_400)) throw new TypeError("timeout must be a number of seconds, up to a day");
  return timeout * 1000;
}

/** RFC 6750 section 2.1, and every other character that a header can carry. */
const bearerPattern = /^[\x21-\x7e]+$/;

/**
 * Bearers by plane (docs/reference/routes.md#planes-and-bearers).
 * @throws {TypeError} for one that no header can carry; the message does not contain it
 */
export function bearersOf({ adminToken, auditToken = adminToken, identityToken = auditToken }: AuthzClientOptions) {
  const bearers = { adminToken, auditToken, identityToken };
  for (const [name, bearer] of Object.entries(bearers)) {
    if (bearer !== undefined && !bearerPattern.test(bearer))
      throw new TypeError(`${name} has a character that no header can carry`);
  }
  return bearers;
}

/** @throws {TypeError} where only one of key and name is given, or the name is none */
export function proverOf({ identityKey, agentName: name }: AuthzClientOptions): AgentProver | undefined {
  if (identityKey === undefined && name === undefined) return undefined;
  if (identityKey === undefined || name === undefined) {
    throw new TypeError("identityKey and agentName require each other");
  }
  if (!agentName.safeParse(name).success) throw new TypeError("agentName is not a valid agent name");
  const isReady = typeof identityKey === "object" && "sign" in identityKey;
  return agentProver({ agentName: name, key: isReady ? identityKey : () => importAgentKey(identityKey) });
}

/** An empty path counts as none. */
export const tracePathOf = ({ tracePath }: AuthzClientOptions): string | undefined =>
  (tracePath ?? globalThis.process?.env.SVC_TRACE_PATH) || undefined;
