import { waitUntil } from "@svc/test-support";
import type { Connect, EraClient } from "./clients.ts";
import type { EraServer, Reached } from "./servers.ts";

type Step = (client: EraClient, server: EraServer) => Promise<unknown>;

const cancelled: Step = async (client, server) => {
  const controller = new AbortController();
  const before = server.waits();
  const call = client.callTool("wait", {}, { signal: controller.signal });
  await waitUntil("the call", () => server.waits() > before);
  controller.abort();
  return call;
};

const progress: Step = async (client, server) => {
  const seen: number[] = [];
  const onprogress = (event: { progress: number }) => {
    seen.push(event.progress);
    if (event.progress === 3) server.progressSeen();
  };
  return { result: await client.callTool("count", {}, { onprogress }), seen };
};

const subscription: Step = async (client, server) => {
  await client.listen();
  // A server without sessions has nowhere to announce to a client that opens them.
  if (client.revision() !== "2026-07-28" && !server.hasSessions) return "no stream";
  server.announce();
  await waitUntil("the change", () => client.changes() > 0);
  return "announced";
};

/** Every part of the protocol, by name. */
export const steps: Readonly<Record<string, Step>> = {
  list: async (client) => (await client.listTools()).tools,
  call: (client) => client.callTool("echo", { said: "Grüße \u{1F44B}" }),
  "argument that a header repeats": (client) => client.callTool("routed", { region: " Zürich" }),
  "unknown tool": (client) => client.callTool("absent"),
  progress,
  cancel: cancelled,
  elicitation: (client) => client.callTool("ask"),
  sampling: (client) => client.callTool("sample"),
  resources: (client) => client.listResources(),
  resource: (client) => client.readResource({ uri: "test://static" }),
  "unknown resource": (client) => client.readResource({ uri: "test://absent" }),
  prompts: (client) => client.listPrompts(),
  prompt: (client) => client.getPrompt({ name: "greeting" }),
  subscription,
};

export interface Walk {
  readonly revision: string | undefined;
  readonly outcomes: Readonly<Record<string, unknown>>;
  /** Of the tool that the agent may not call. */
  readonly guarded: unknown;
}

/** The outcome of every step; a client that cannot connect has the error alone. */
export async function walk(
  connect: Connect,
  at: Reached,
  headers: Record<string, string>,
  server: EraServer,
): Promise<Walk> {
  const client = await connect(at, headers).catch(failure);
  if ("failed" in client) return { revision: undefined, outcomes: { connect: client }, guarded: undefined };
  const outcomes: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(steps)) outcomes[name] = await step(client, server).catch(failure);
  const guarded = await client.callTool("guarded").catch(failure);
  const revision = client.revision();
  await client.close();
  return { revision, outcomes, guarded };
}

const failure = (error: { name: string; code?: unknown; message: string }) => ({
  failed: { name: error.name, code: error.code, message: error.message },
});
