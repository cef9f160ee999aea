import {
  decodeUnverifiedIssuer,
  type PublicJwk,
  type SigningKey,
  signActorProof,
  signIdentityAssertion,
} from "@svc/tokens";

/** The agent and its key, and the clock and identifiers of its statements. */
export interface AgentProverOptions {
  readonly agentName: string;
  /** The key, or a function that loads it, called once at the first signature. */
  readonly key: SigningKey | (() => Promise<SigningKey>);
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** A fresh identifier per statement. */
  readonly uuid?: () => string;
}

export type AgentProver = ReturnType<typeof agentProver>;

/** Signs actor proofs and identity assertions (docs/reference/tokens.md#proofs-by-an-agents-key). */
export function agentProver(options: AgentProverOptions) {
  const { agentName: agent, key, now = Date.now, uuid = () => crypto.randomUUID() } = options;
  let loaded: Promise<SigningKey> | undefined;
  const keyOf = () => {
    loaded ??= typeof key === "function" ? key() : Promise.resolve(key);
    return loaded;
  };
  const statement = (audience: string) => ({ agent, audience, nowSeconds: now() / 1000, jti: uuid() });
  return {
    agentName: agent,
    publicJwk: async (): Promise<PublicJwk> => (await keyOf()).publicJwk,
    /** As `ActorProver`. A token without an issuer gets a proof for none; the control plane refuses both. */
    prove: async (subjectToken: string): Promise<string> =>
      signActorProof(await keyOf(), statement(decodeUnverifiedIssuer(subjectToken) ?? ""), { subjectToken }),
    /** The `Agent-Identity` header for an access token and its target. */
    assertIdentity: async (accessToken: string, target: string): Promise<string> =>
      signIdentityAssertion(await keyOf(), statement(target), accessToken),
    /** The proof that completes an enrollment: over the server's challenge, for its issuer. */
    proveChallenge: async (challenge: string, issuer: string): Promise<string> =>
      signActorProof(await keyOf(), statement(issuer), { nonce: challenge }),
  };
}
