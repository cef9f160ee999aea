import {
  decodeUnverifiedIssuer,
  type PublicJwk,
  type SigningKey,
  signActorProof,
  signIdentityAssertion,
} from "@svc/tokens";
import type { ActorProver } from "./steps/step.ts";

/** Whose key signs, and the clock and identifiers of what it signs. */
export interface AgentProverOptions {
  readonly agentName: string;
  /** The key, or how to come by it; asked for once, when something is to be signed first. */
  readonly key: SigningKey | (() => Promise<SigningKey>);
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** A fresh identifier per proof. */
  readonly uuid?: () => string;
}

/** Signs in an agent's name, with its key. */
export interface AgentProver extends ActorProver {
  readonly agentName: string;
  publicJwk(): Promise<PublicJwk>;
  /** The `Agent-Identity` header that goes with an access token to its target. */
  assertIdentity(accessToken: string, target: string): Promise<string>;
  /** The proof by which an enrollment is completed: over the server's challenge, for its issuer. */
  answer(challenge: string, issuer: string): Promise<string>;
}

/** Signs with an agent's key what shows that the agent itself acts (contract: Tokens). */
export function agentProver(options: AgentProverOptions): AgentProver {
  const { agentName: agent, key, now = Date.now, uuid = () => crypto.randomUUID() } = options;
  const keyOf = typeof key === "function" ? once(key) : async () => key;
  const statement = (audience: string) => ({ agent, audience, nowSeconds: now() / 1000, jti: uuid() });
  return {
    agentName: agent,
    publicJwk: async () => (await keyOf()).publicJwk,
    // A token of no issuer gets a proof for none, and the control plane refuses both.
    prove: async (subjectToken) =>
      signActorProof(await keyOf(), statement(decodeUnverifiedIssuer(subjectToken) ?? ""), { subjectToken }),
    assertIdentity: async (accessToken, target) => signIdentityAssertion(await keyOf(), statement(target), accessToken),
    answer: async (challenge, issuer) => signActorProof(await keyOf(), statement(issuer), { nonce: challenge }),
  };
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
