import { randomUUID } from "node:crypto";
import { writeFileSync } from "node:fs";
import { generatePrivateJwk, importAgentKey, type SigningKey, signActorProof } from "@svc/tokens";
import { admin, post } from "./admin.ts";
import { registerLine } from "./agents.ts";
import type { Bench } from "./bench.ts";
import { type Person, startPerson } from "./id-token-issuer.ts";
import { type LiveAgents, liveAgents } from "./live-agents.ts";
import { type Stack, startStack } from "./stack.ts";

export interface ProvenStack extends Stack {
  /** Of the one agent whose key the enforcement point has. */
  readonly agents: LiveAgents;
}

/** A stack with an enrolled agent, whose enforcement point proves possession of its key with every exchange. */
export async function startProvenStack(bench: Bench, sessions = 8): Promise<ProvenStack> {
  const person = bench.use(await startPerson());
  const jwk = await generatePrivateJwk();
  const agent = "bench-agent-1";
  const keyFile = (folder: string) => {
    writeFileSync(`${folder}/agent.jwk`, JSON.stringify(jwk), { mode: 0o600 });
    return { SVC_PEP_AGENT_KEY_FILE: `${folder}/agent.jwk`, SVC_PEP_AGENT_NAME: agent };
  };
  const stack = await startStack({
    stores: bench.stores,
    upstream: bench.upstream.url,
    controlPlaneEnv: { SVC_IDP_ISSUER: person.issuer, SVC_IDP_AUDIENCE: person.audience },
    pepEnv: keyFile,
  });
  const { url } = stack.controlPlane;
  const line = await registerLine(url, "bench", 1);
  await enroll(url, agent, await importAgentKey(jwk), person);
  return { ...stack, agents: await liveAgents(stack, line, 1, sessions) };
}

async function enroll(url: string, agent: string, key: SigningKey, person: Person): Promise<void> {
  const begun = await admin<{ enrollment_id: string; challenge: string }>(url, "/v1/identity/enrollments", {
    agent,
    jwk: key.publicJwk,
    principal_assertion: await person.idToken(key.kid),
  });
  const statement = { agent, audience: url, nowSeconds: Date.now() / 1000, jti: randomUUID() };
  const proof = await signActorProof(key, statement, { nonce: begun.challenge });
  const path = `${url}/v1/identity/enrollments/${begun.enrollment_id}/complete`;
  const { status } = await post<{ status: string }>(path, undefined, "application/json", JSON.stringify({ proof }));
  if (status !== "enrolled") throw new Error(`the agent's enrollment has status ${status}`);
}
