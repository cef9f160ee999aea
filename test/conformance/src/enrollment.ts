import { generatePrivateJwk, importAgentKey, type SigningKey, signActorProof } from "@svc/tokens";
import { decodeJwt } from "jose";
import type { Answer, Api } from "./api.ts";
import type { IdentityProvider } from "./identity-provider.ts";

export const newKey = async (): Promise<SigningKey> => importAgentKey(await generatePrivateJwk());

export interface EnrollmentInput {
  readonly key: SigningKey;
  readonly principal_assertion?: string;
  readonly claims?: object;
  readonly enroll_token?: string;
}

/** The agent's steps of an enrollment, one by one or at once. */
export const enrolling = (api: Api) => {
  const begin = (agent: string, { key, ...more }: EnrollmentInput, bearer: string | undefined = api.tokens.admin) =>
    api.call("POST", "/v1/identity/enrollments", {
      ...(bearer !== "" && { bearer }),
      body: { agent, jwk: key.publicJwk, ...more },
    });
  const complete = (enrollmentId: string, proof: string) =>
    api.call("POST", `/v1/identity/enrollments/${enrollmentId}/complete`, { body: { proof } });
  /** By default for a server that is its own issuer. */
  const prove = (agent: string, key: SigningKey, nonce: string, changes: Partial<Statement> = {}) =>
    signActorProof(key, { ...statement(agent, api.url), ...changes }, { nonce });
  /** Begins and completes; throws where the first step is refused. */
  const enroll = async (agent: string, input: EnrollmentInput, bearer?: string): Promise<Answer> => {
    const begun = await begin(agent, input, bearer);
    if (begun.status !== 201) throw new Error(`enrollment of ${agent}: ${begun.status} ${begun.text}`);
    return complete(begun.body.enrollment_id, await prove(agent, input.key, begun.body.challenge));
  };
  return {
    begin,
    complete,
    prove,
    enroll,
    /** Enrolls with a new key and an assertion of `person`; throws unless the agent is enrolled. */
    async enrolled(agent: string, provider: IdentityProvider, person = "ada"): Promise<SigningKey> {
      const key = await newKey();
      const { body, text } = await enroll(agent, { key, principal_assertion: await provider.idToken(person, key.kid) });
      if (body.status !== "enrolled") throw new Error(`enrollment of ${agent}: ${text}`);
      return key;
    },
    /** The actor token for a subject token. */
    actorToken: (agent: string, key: SigningKey, subjectToken: string, changes: Partial<Statement> = {}) =>
      signActorProof(key, { ...statement(agent, issuerOf(subjectToken)), ...changes }, { subjectToken }),
    identity: (agent: string, headers: Record<string, string> = {}) =>
      api.call("GET", `/v1/identity/agents/${agent}`, { bearer: api.tokens.identity, raw: { headers } }),
    async revoke(agent: string, body: object = {}) {
      const { agent_id } = (await api.call("GET", `/v1/agents/resolve?name=${agent}`, { bearer: api.tokens.admin }))
        .body;
      return api.call("POST", `/v1/agents/${agent_id}/revoke`, { bearer: api.tokens.admin, body });
    },
  };
};

type Statement = Parameters<typeof signActorProof>[1];

const statement = (agent: string, audience: string): Statement => ({
  agent,
  audience,
  nowSeconds: Date.now() / 1000,
  jti: crypto.randomUUID(),
});

const issuerOf = (token: string): string => decodeJwt(token).iss ?? "";
