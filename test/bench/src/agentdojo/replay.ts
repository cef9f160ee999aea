import { request } from "undici";
import { untilAvailable } from "../rig/admin.ts";
import { type AgentLine, delegate } from "../rig/agents.ts";
import type { Stack } from "../rig/stack.ts";
import { delegatedClasses, type Suite, scopeOf } from "./suite.ts";
import type { Task, TaskCall } from "./tasks.ts";

/** One session of a suite's agent. */
export interface Replay {
  /** The calls of a task, one after the other. @returns those that the enforcement point blocked */
  play(task: Task): Promise<readonly TaskCall[]>;
}

export async function openReplay({ controlPlane, pep }: Stack, suite: Suite, scope: string): Promise<Replay> {
  const line: AgentLine = { scope: scopeOf(suite, scope), agents: [`${suite.name}-agent`] };
  const { sessionId, token } = await untilAvailable(() =>
    delegate(controlPlane.url, line, 1, delegatedClasses(suite, scope)),
  );
  const headers = {
    ...{ authorization: `Bearer ${token}`, "x-svc-session": sessionId },
    "content-type": "application/json",
  };
  const isBlocked = async ({ tool: name, args }: TaskCall): Promise<boolean> => {
    const body = JSON.stringify({
      ...{ jsonrpc: "2.0", id: 1, method: "tools/call" },
      params: { name, arguments: args },
    });
    const answer = await request(`${pep.url}/${suite.name}`, { method: "POST", headers, body });
    await answer.body.dump();
    const cause = answer.headers["x-svc-blocked"];
    if (cause !== undefined && cause !== "policy" && cause !== "unresolvable_call") {
      throw new Error(`${suite.name}, ${name}: blocked as ${cause}`);
    }
    return cause !== undefined;
  };
  return {
    async play({ calls }) {
      const blocked: TaskCall[] = [];
      for (const call of calls) if (await isBlocked(call)) blocked.push(call);
      return blocked;
    },
  };
}
