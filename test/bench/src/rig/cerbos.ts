import { createRequire } from "node:module";
import type { RunningServer } from "./node-server.ts";
import { startProgram } from "./program.ts";

/** The real server, with one resource policy of this many rules; undefined where its package excludes the machine. */
export async function startCerbos(rules: number): Promise<RunningServer | undefined> {
  const path = serverPath();
  if (path === undefined) return undefined;
  return startProgram({
    path,
    args: () => ["server", "--config=config.yaml", "--log-level=error"],
    files: (port, folder) => ({ "config.yaml": configuration(port, folder), "policies/policy.yaml": policy(rules) }),
    readyPath: "/_cerbos/health",
  });
}

function serverPath(): string | undefined {
  try {
    return createRequire(import.meta.url).resolve("@cerbos/cerbos-linux-x64/cerbos-linux-x64");
  } catch {
    return undefined;
  }
}

export const cerbosPath = "/api/check/resources";

/** The same question as a hop's: may this agent do this with this tool. */
export const cerbosQuestion = (tool: number): string =>
  JSON.stringify({
    requestId: "bench",
    principal: { id: "bench-agent", roles: ["agent"] },
    resources: [{ resource: { kind: "bench", id: "entry" }, actions: [`read${tool}`] }],
  });

const configuration = (port: number, folder: string): string => `\
server:
  httpListenAddr: 127.0.0.1:${port}
  grpcListenAddr: unix:${folder}/grpc.sock
storage:
  driver: disk
  disk: {directory: ${folder}/policies, watchForChanges: false}
telemetry: {disabled: true}
audit: {enabled: false}
`;

const policy = (rules: number): string => `\
apiVersion: api.cerbos.dev/v1
resourcePolicy:
  version: default
  resource: bench
  rules:
${Array.from({ length: rules }, (_, rule) => `    - {actions: ["read${rule}"], effect: EFFECT_ALLOW, roles: [agent]}`).join("\n")}
`;
