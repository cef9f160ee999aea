import { decodeUnverifiedIssuer, type SigningKey, signActorProof, signIdentityAssertion } from "@svc/tokens";
import type { ActorProver } from "./steps/step.ts";

export interface AgentProverOptions {
  readonly agentName: string;
  readonly key: SigningKey;
  /** Milliseconds since the epoch. */
  readonly now?: () => number;
  /** A fresh identifier per proof. */
  readonly uuid?: () => string;
}

export interface AgentProver extends ActorProver {
  /** The `Agent-Identity` header that goes with an access token to its target. */
  assertIdentity(accessToken: string, target: string): Promise<string>;
}

/** Signs with an agent's key what shows that the agent itself acts (contract: Tokens). */
export function agentProver(options: AgentProverOptions): AgentProver {
  const { agentName: agent, key, now = Date.now, uuid = () => crypto.randomUUID() } = options;
  const statement = (audience: string) => ({ agent, audience, nowSeconds: now() / 1000, jti: uuid() });
  return {
    // A token of no issuer gets a proof for none, and the control plane refuses both.
    prove: (subjectToken) =>
      signActorProof(key, statement(decodeUnverifiedIssuer(subjectToken) ?? ""), { subjectToken }),
    assertIdentity: (accessToken, target) => signIdentityAssertion(key, statement(target), accessToken),
  };
}
