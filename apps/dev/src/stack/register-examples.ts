import { AuthzClient, ControlPlaneRejected } from "@svc/client";
import { exampleAgents } from "../examples/agents.ts";
import { StartError } from "../start-error.ts";
import type { Stack } from "./stack.ts";

/** Registers the example agents; an agent that a kept data folder has already stays as it is. */
export async function registerExamples(stack: Stack): Promise<void> {
  const client = new AuthzClient({ baseUrl: stack.controlPlane, adminToken: stack.bearers.admin, tracePath: "" });
  try {
    for (const agent of exampleAgents(stack)) {
      await client.admin.registerAgent(agent).catch((cause: unknown) => {
        if (cause instanceof ControlPlaneRejected && cause.code === "agent_exists") return;
        const message = cause instanceof Error ? cause.message : String(cause);
        throw new StartError(`registering ${agent.name} failed: ${message}`, "Start without --with-example.", {
          cause,
        });
      });
    }
  } finally {
    await client.close();
  }
}
