import { aManifest, aTool } from "@svc/test-support";
import { generatePrivateJwk, importAgentKey, type SigningKey, signActorProof } from "@svc/tokens";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import type { Deps } from "../src/routes/deps.ts";
import { type Json, registerAgent, startPlane, type TestApp } from "./support.ts";

let plane: Awaited<ReturnType<typeof startPlane>>;
let vouching: TestApp;
const target = "http:till/pay";

beforeAll(async () => {
  plane = await startPlane({ SVC_IDENTITY_REQUIRED: "true" });
  vouching = plane.with({
    identityProvider: { principalOf: async () => ({ issuer: "https://idp.test", subject: "ada" }) },
  });
});
afterAll(() => plane.stop());

const newKey = async () => importAgentKey(await generatePrivateJwk());
const statement = (agent: string) => ({
  agent,
  audience: plane.deps.issuer,
  nowSeconds: Date.now() / 1000,
  jti: crypto.randomUUID(),
});

async function enroll(agent: string, key: SigningKey): Promise<void> {
  const begun = await vouching.send("/v1/identity/enrollments", {
    body: { agent, jwk: key.publicJwk, principal_assertion: "vouched" },
  });
  const proof = await signActorProof(key, statement(agent), { nonce: String(begun.json.challenge) });
  const path = `/v1/identity/enrollments/${begun.json.enrollment_id}/complete`;
  const { json } = await plane.send(path, { body: { proof } });
  expect(json.status).toBe("enrolled");
}

let agentCount = 0;
/** An enrolled entry agent, and an allowed call of its tool with its proof, by either way. */
async function provenCall() {
  const agent = `teller-${++agentCount}`;
  const scope = `scope-${agentCount}`;
  await registerAgent(plane, agent, aManifest(scope, { tools: [aTool(target)] }));
  const key = await newKey();
  await enroll(agent, key);
  const consent = await plane.send("/v1/consent", { body: { scope, user_sub: "ada" } });
  const token = String(consent.json.root_grant);
  const call = { session_id: consent.json.session_id, target, target_kind: "tool", data_class: "finance.entries" };
  const proof = await signActorProof(key, statement(agent), { subjectToken: token });
  const exchange = async (app: TestApp) => {
    const { json } = await plane.send("/v1/authorize", { token, body: call });
    const form = new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      actor_token: proof,
      actor_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: target,
      scope: "finance.entries",
      action_id: String(json.action_id),
    });
    const { status, json: body } = await app.send("/v1/token/exchange", {
      method: "POST",
      token: "",
      body: form.toString(),
      headers: { "content-type": "application/x-www-form-urlencoded" },
    });
    return { status, code: body.error };
  };
  const hops = async (app: TestApp) => {
    const line = JSON.stringify({ ...call, token, actor_token: proof, body_settled: true });
    const headers = { "content-type": "application/x-ndjson" };
    const { text } = await app.send("/v1/hops", { token: "", body: line, headers });
    const { authorize, exchange = authorize }: Json = JSON.parse(text);
    return { status: exchange?.status, code: exchange?.body?.error?.code };
  };
  return { agent, take: { exchange, hops } };
}

/** The app in which `between` happens, once, after the agent's key was read and before anything is spent. */
function withAfterKeys(between: () => Promise<unknown>): TestApp {
  let happened: Promise<unknown> | undefined;
  const { keysOf } = plane.deps.agentKeys;
  const agentKeys: Deps["agentKeys"] = {
    async keysOf(agent) {
      const keys = await keysOf(agent);
      happened ??= between();
      await happened;
      return keys;
    },
  };
  return plane.with({ agentKeys });
}

describe.each(["exchange", "hops"] as const)("%s, after whose proof was verified", (way) => {
  test("nothing changes, succeeds", async () => {
    const { take } = await provenCall();
    expect((await take[way](withAfterKeys(async () => {}))).status).toBe(200);
  });

  test("its key is replaced, is rejected", async () => {
    const { agent, take } = await provenCall();
    const answer = await take[way](withAfterKeys(async () => enroll(agent, await newKey())));
    expect(answer).toEqual({ status: 400, code: "invalid_request" });
  });

  test("its agent is revoked, is rejected", async () => {
    const { agent, take } = await provenCall();
    const { json } = await plane.send(`/v1/agents/resolve?name=${agent}`);
    const answer = await take[way](
      withAfterKeys(() => plane.send(`/v1/agents/${json.agent_id}/revoke`, { method: "POST" })),
    );
    expect(answer).toEqual({ status: 400, code: "invalid_request" });
  });
});
