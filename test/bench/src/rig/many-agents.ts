import { admin } from "./admin.ts";

const toolsOfAgent = 100;

/** This many tools, used by a hundredth as many agents, all in one scope. */
export async function registerMany(controlPlaneUrl: string, scope: string, count: number): Promise<void> {
  const register = (name: string, tools: readonly string[]) =>
    admin(controlPlaneUrl, "/v1/agents", {
      name,
      manifest: {
        scopes: { [scope]: { hop_budget: 3, tools: tools.map((ref) => ({ ref, data_classes: ["bench"] })) } },
      },
      override: { reason: "a benchmark" },
    });
  for (let first = 0; first < count; first += toolsOfAgent) {
    const refs = Array.from(
      { length: Math.min(toolsOfAgent, count - first) },
      (_, tool) => `http:crowd/tool${first + tool}`,
    );
    await register(`crowd-agent-${first / toolsOfAgent}`, refs);
  }
}
