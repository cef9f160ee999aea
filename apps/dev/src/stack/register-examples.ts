import { exampleAgents } from "../examples/agents.ts";
import { Fault } from "../fault.ts";
import { call } from "../http.ts";
import type { Stack } from "./stack.ts";

/** Registers the example agents; one that a kept data folder knows already stays as it is. */
export async function registerExamples(stack: Stack): Promise<void> {
  for (const agent of exampleAgents(stack)) {
    const { status, body } = await call(`${stack.controlPlane}/v1/agents`, {
      bearer: stack.bearers.admin,
      json: agent,
    });
    if (status === 201 || status === 409) continue;
    const told = `the example agent ${agent.name} was refused (${status}): ${JSON.stringify(body)}`;
    throw new Fault(told, "Start without --with-example.");
  }
}
