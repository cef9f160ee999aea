import { enrolling, newKey } from "../enrollment.ts";
import { admin, agentId, clerk, type Examples, identity, inTurn, newAgent, revokedAgent, unknownId } from "./base.ts";

export const identities: Examples = {
  "POST /v1/identity/enroll-tokens": (api) =>
    inTurn(
      () => admin(api, "POST", "/v1/identity/enroll-tokens", { agent: clerk }),
      () => admin(api, "POST", "/v1/identity/enroll-tokens", { agent: "nobody" }),
      async () => admin(api, "POST", "/v1/identity/enroll-tokens", { agent: await revokedAgent(api) }),
    ),
  "POST /v1/identity/enrollments": async (api) => {
    const { begin } = enrolling(api);
    const [agent, key] = [await newAgent(api), await newKey()];
    const { enroll_token } = (await admin(api, "POST", "/v1/identity/enroll-tokens", { agent })).body;
    return inTurn(
      () => begin(agent, { key }),
      () => begin(agent, { key, enroll_token }, ""),
      () => begin(agent, { key, enroll_token }, ""),
      () => begin("nobody", { key }),
      async () => begin(await revokedAgent(api), { key }),
    );
  },
  "POST /v1/identity/enrollments/{enrollment_id}/complete": async (api) => {
    const { begin, complete, prove } = enrolling(api);
    const [agent, key] = [await newAgent(api), await newKey()];
    const { enrollment_id: id, challenge } = (await begin(agent, { key })).body;
    const audience = (await api.call("GET", "/.well-known/oauth-authorization-server")).body.issuer;
    const proof = await prove(agent, key, challenge, { audience });
    const gone = await newAgent(api);
    const late = (await begin(gone, { key })).body;
    await admin(api, "POST", `/v1/agents/${await agentId(api, gone)}/revoke`, {});
    const lateProof = await prove(gone, key, late.challenge, { audience });
    return inTurn(
      () => complete(id, "x"),
      () => complete(id, proof),
      () => complete(id, proof),
      () => complete(late.enrollment_id, lateProof),
      () => complete(unknownId, proof),
    );
  },
  "GET /v1/identity/agents/{name}": async (api) => {
    const { identity: read } = enrolling(api);
    const first = await read(clerk);
    return inTurn(
      async () => first,
      () => read(clerk, { "if-none-match": first.headers.get("etag") ?? "" }),
    );
  },
  "GET /v1/identity/agents/by-id/{agent_id}": async (api) => {
    const id = await agentId(api);
    return inTurn(() => identity(api, "GET", `/v1/identity/agents/by-id/${id}`));
  },
  "POST /v1/agents/{agent_id}/revoke": async (api) => {
    const id = await agentId(api, await newAgent(api));
    return inTurn(
      () => admin(api, "POST", `/v1/agents/${id}/revoke`, { reason: "gone" }),
      () => admin(api, "POST", `/v1/agents/${unknownId}/revoke`, {}),
    );
  },
  "POST /v1/agents/{agent_id}/lift-quarantine": async (api) => {
    const id = await agentId(api, await newAgent(api));
    return inTurn(
      () => admin(api, "POST", `/v1/agents/${id}/lift-quarantine`, { reason: "enrolled with another key" }),
      () => admin(api, "POST", `/v1/agents/${unknownId}/lift-quarantine`, {}),
    );
  },
  "GET /v1/identity/revocations": async (api) => {
    await admin(api, "POST", `/v1/agents/${await agentId(api, await newAgent(api))}/revoke`, {});
    return inTurn(() => identity(api, "GET", "/v1/identity/revocations?limit=1"));
  },
  "GET /v1/identity/revocations/stream": async (api) => {
    const path = "/v1/identity/revocations/stream";
    return inTurn(
      () => identity(api, "GET", `${path}?since=2026-01-01T00:00:00Z`),
      () => identity(api, "GET", `${path}?since=yesterday`),
    );
  },
};
