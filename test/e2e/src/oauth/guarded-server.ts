import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { enforcementToken, startPeopleStack } from "@svc/test-conformance/people-stack";
import { freePort, startEnforcementPoint, testBearers } from "@svc/test-support";
import type { EraServer } from "../mcp/eras/servers.ts";

/** The scope that a client logs in with, and one that holds a single privileged tool. */
export const scopes = { login: "notes", approval: "notes-approval" };

export type GuardedServer = Awaited<ReturnType<typeof startGuardedServer>>;

/**
 * An MCP server behind a real enforcement point that OAuth clients log in to, before real control planes whose people sign
 * in with a real provider.
 */
export async function startGuardedServer(server: EraServer) {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const stack = await startPeopleStack({ SVC_OAUTH_RESOURCES: `${url}/` });
  const tool = (name: string, more: object = {}) => ({ ref: `mcp:notes/${name}`, data_classes: ["notes"], ...more });
  await stack.register("planner", {
    [scopes.login]: { hop_budget: 3, tools: [tool("echo")] },
    [scopes.approval]: { hop_budget: 3, tools: [tool("guarded", { privileged: true })] },
  });
  const folder = mkdtempSync(join(tmpdir(), "svc-oauth-"));
  const file = join(folder, "pep.json");
  const upstream = {
    ...{ name: "notes", protocol: "mcp", data_class: "notes", oauth: { scope: scopes.login } },
    url: "url" in server.at ? server.at.url : "",
  };
  writeFileSync(file, JSON.stringify({ upstreams: [upstream] }));
  const enforcementPoint = await startEnforcementPoint(stack.api.url, file, {
    SVC_PEP_LISTEN: `127.0.0.1:${port}`,
    SVC_PEP_PUBLIC_URL: url,
    SVC_PEP_ENFORCEMENT_TOKEN: enforcementToken,
    SVC_LOG_LEVEL: "debug",
  });
  return {
    ...stack,
    enforcementPoint,
    resource: `${url}/notes`,
    endSession: (session: string) =>
      stack.api.call("POST", `/v1/sessions/${session}/revoke`, { bearer: testBearers.admin }),
    async stop() {
      await enforcementPoint.stop();
      await Promise.all([stack.stop(), server.stop()]);
      rmSync(folder, { recursive: true });
    },
  };
}
