import { writeFile } from "node:fs/promises";
import { spawnDev } from "@svc/test-support";
import type { Target } from "./load.ts";

export interface Guarded extends Target {
  stop(): Promise<void>;
}

const scope = "bench";
const tool = { target: "http:bench/read", target_kind: "tool", data_class: "bench" };
const agent = { target: "bench-agent", target_kind: "agent", data_class: "bench" };

/**
 * The whole stack, with one agent that may read one tool of `upstream`; its own token in the headers.
 * @param env settings beside its defaults
 */
export async function startGuarded(upstream: string, env: Readonly<Record<string, string>> = {}): Promise<Guarded> {
  const dev = await spawnDev([], env);
  const { control_plane: controlPlane, pep, admin_token: admin, pep_config: configFile } = dev;
  const post = async (path: string, bearer: string, body: object) => {
    const response = await fetch(`${controlPlane}${path}`, {
      method: "POST",
      headers: { authorization: `Bearer ${bearer}`, "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response.json() as Promise<Record<string, string>>;
  };
  await post("/v1/agents", admin, {
    name: agent.target,
    manifest: {
      scopes: { [scope]: { hop_budget: 3, tools: [{ ref: tool.target, data_classes: [tool.data_class] }] } },
    },
    override: { reason: "a benchmark" },
  });
  const consent = await post("/v1/consent", admin, { scope, user_sub: "bench", ttl_seconds: 86_400 });
  const { session_id: session = "", root_grant: root = "" } = consent;
  const { action_id: action = "" } = await post("/v1/authorize", root, { session_id: session, ...agent });
  const token = await exchange(controlPlane, root, action);
  await writeFile(configFile, JSON.stringify(upstreams(upstream)));
  const url = `${pep}/bench/read`;
  const headers = { authorization: `Bearer ${token}`, "x-svc-session": session };
  await serves(url, headers);
  return { url, headers, stop: () => dev.stop() };
}

const upstreams = (url: string) => ({
  upstreams: [
    {
      name: "bench",
      url,
      routes: [{ methods: ["GET"], path: "/read", target: tool.target, data_class: tool.data_class }],
    },
  ],
});

async function exchange(controlPlane: string, token: string, actionId: string): Promise<string> {
  const response = await fetch(`${controlPlane}/v1/token/exchange`, {
    method: "POST",
    body: new URLSearchParams({
      grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
      subject_token: token,
      subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
      resource: agent.target,
      scope: agent.data_class,
      action_id: actionId,
    }),
  });
  if (!response.ok) throw new Error(`the exchange answered ${response.status}: ${await response.text()}`);
  return ((await response.json()) as { access_token: string }).access_token;
}

/** The enforcement point reads its new configuration in its own time. */
async function serves(url: string, headers: Readonly<Record<string, string>>): Promise<void> {
  const deadline = performance.now() + 10_000;
  for (;;) {
    const response = await fetch(url, { headers });
    const text = await response.text();
    if (response.ok) return;
    if (performance.now() > deadline) throw new Error(`${url} answers ${response.status}: ${text}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}
