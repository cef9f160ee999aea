import { type EchoUpstream, startEchoUpstream } from "@svc/test-support";
import type { Api } from "../api.ts";
import { admin, agentId, clerk, type Examples, inTurn, newAgent, newName, scope } from "./base.ts";

const manifestOf = (tool: string) => ({
  scopes: { [scope]: { hop_budget: 2, tools: [{ ref: tool, data_classes: ["web"] }] } },
});

/** Advertises no capability at all. */
const startEmptySource = (): Promise<EchoUpstream> =>
  startEchoUpstream((_request, response) => {
    response.setHeader("content-type", "application/json");
    response.end('{"tools": [], "downstream_agents": []}');
  });

/** Seven agents that may all delegate to each other: with the last one, more paths than a policy may have. */
export async function almostTooLarge(api: Api): Promise<{ last: string; manifest: object }> {
  const wide = newName();
  const names = Array.from({ length: 7 }, (_, n) => `${wide}-${n}`);
  const declare = (name: string) => ({
    [wide]: { hop_budget: 32, entry: true, downstream_agents: names.filter((other) => other !== name) },
  });
  const [last = "", ...others] = names;
  for (const name of others) await api.attest(name, declare(name));
  return { last, manifest: { scopes: declare(last) } };
}

export const registration: Examples = {
  "POST /v1/agents": async (api) => {
    const name = newName();
    const body = { name, manifest: manifestOf("http:documented/read") };
    const url = "http://127.0.0.1:1/";
    const tooLarge = await almostTooLarge(api);
    const unreachable = { ...body.manifest, discovery: { kind: "http", name: "x", url } };
    return inTurn(
      () => admin(api, "POST", "/v1/agents", { ...body, manifest: unreachable }),
      () => admin(api, "POST", "/v1/agents", { ...body, override: { reason: "a person looked" } }),
      () => admin(api, "POST", "/v1/agents", { ...body, override: {} }),
      () => admin(api, "POST", "/v1/agents", { ...body, name: `${name}-x`, manifest: manifestOf(clerk), override: {} }),
      () => admin(api, "POST", "/v1/agents", { name: tooLarge.last, manifest: tooLarge.manifest, override: {} }),
    );
  },
  "POST /v1/manifests": async (api) => {
    const agent = await newAgent(api);
    const body = { agent, manifest: manifestOf("http:documented/read") };
    const source = await startEmptySource();
    const contradicted = { ...body.manifest, discovery: { kind: "http", name: "x", url: source.url } };
    const { last, manifest } = await almostTooLarge(api);
    await api.attest(last, { [`${scope}-aside`]: { hop_budget: 2 } });
    try {
      return await inTurn(
        () => admin(api, "POST", "/v1/manifests", body),
        () => admin(api, "POST", "/v1/manifests", { ...body, override: {} }),
        () => admin(api, "POST", "/v1/manifests", { ...body, agent: "nobody", override: {} }),
        () => admin(api, "POST", "/v1/manifests", { ...body, manifest: contradicted }),
        () => admin(api, "POST", "/v1/manifests", { agent: last, manifest, override: {} }),
      );
    } finally {
      await source.stop();
    }
  },
  "POST /v1/manifests/preview": async (api) => {
    const agent = await newAgent(api);
    const body = { agent, manifest: manifestOf("http:documented/read") };
    return inTurn(
      () => admin(api, "POST", "/v1/manifests/preview", body),
      () => admin(api, "POST", "/v1/manifests/preview", { ...body, override: {} }),
    );
  },
  "GET /v1/agents": (api) =>
    inTurn(
      () => admin(api, "GET", "/v1/agents"),
      () => admin(api, "GET", "/v1/agents?limit=1&status=attested"),
    ),
  "GET /v1/agents/resolve": (api) =>
    inTurn(
      () => admin(api, "GET", `/v1/agents/resolve?name=${clerk}`),
      () => admin(api, "GET", "/v1/agents/resolve?name=nobody"),
    ),
  "GET /v1/agents/{agent_id}/reconciliation": async (api) => {
    const id = await agentId(api);
    return inTurn(() => admin(api, "GET", `/v1/agents/${id}/reconciliation`));
  },
  "GET /v1/manifests/{scope}": (api) =>
    inTurn(
      () => admin(api, "GET", `/v1/manifests/${scope}?agent=${clerk}&version=1`),
      () => admin(api, "GET", `/v1/manifests/${scope}?version=99`),
    ),
  "GET /v1/scopes/{scope}/catalog": (api) =>
    inTurn(
      () => admin(api, "GET", `/v1/scopes/${scope}/catalog`),
      () => admin(api, "GET", `/v1/scopes/${scope}/catalog?version=999`),
    ),
};
