import type { Api, Hop } from "./api.ts";

/** The scope of most tests: a planner that delegates to a clerk, who reads, writes, and browses the web. */
export async function registerLedger(api: Api, scope: string): Promise<void> {
  const name = (agent: string) => `${agent}-${scope}`;
  await accepted(
    api.attest(name("planner"), {
      [scope]: { hop_budget: 4, downstream_agents: [name("clerk")], tools: [] },
    }),
  );
  await accepted(
    api.attest(name("clerk"), {
      [scope]: {
        hop_budget: 4,
        tools: [
          { ref: `http:${scope}/read`, data_classes: ["finance.entries"] },
          { ref: `http:${scope}/post`, data_classes: ["finance.entries"], access: "write", privileged: true },
          { ref: `http:${scope}/browse`, data_classes: ["web"], result_taint: "untrusted_external" },
        ],
      },
    }),
  );
}

async function accepted(answer: ReturnType<Api["attest"]>): Promise<void> {
  const { status, text } = await answer;
  if (status !== 201) throw new Error(`registration: ${status} ${text}`);
}

export const ledgerHops = (scope: string) =>
  ({
    planner: { target: `planner-${scope}`, target_kind: "agent", data_class: "finance.entries web" },
    clerk: { target: `clerk-${scope}`, target_kind: "agent", data_class: "finance.entries web" },
    read: { target: `http:${scope}/read`, target_kind: "tool", data_class: "finance.entries" },
    post: { target: `http:${scope}/post`, target_kind: "tool", data_class: "finance.entries" },
    browse: { target: `http:${scope}/browse`, target_kind: "tool", data_class: "web" },
  }) as const satisfies Record<string, Hop>;

/** A session in which the person delegated to the planner and the planner to the clerk: the clerk's token. */
export async function clerkSession(api: Api, scope: string) {
  const hops = ledgerHops(scope);
  const { session, token: root } = await api.consent(scope);
  const planner = await api.hop(session, root, hops.planner);
  const clerk = await api.hop(session, planner.token, hops.clerk);
  return { session, root, planner, clerk, hops };
}
