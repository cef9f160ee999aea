import { ask } from "./answer.ts";
import type { StepOptions, StepPorts } from "./step.ts";

/** `GET /readyz`: whether the control plane just reached its database and its cache store. */
export async function isReady(ports: StepPorts, options: StepOptions): Promise<boolean> {
  const heard = await ask(ports, { method: "GET", path: "/readyz", headers: {} }, options);
  return heard.kind === "answered" && heard.response.status === 200;
}
