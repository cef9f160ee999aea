import { CallToolResultSchema } from "@modelcontextprotocol/sdk/types.js";
import { waitUntil } from "@svc/test-support";
import type { McpAgent } from "./agent.ts";
import { absentTool } from "./everything.ts";
import { resumed } from "./resumed.ts";

/** One client action and its result. */
export type Step = (agent: McpAgent) => Promise<unknown>;

const tool =
  (name: string, args: Record<string, unknown> = {}): Step =>
  ({ client }) =>
    client.callTool({ name, arguments: args });

/** Calls a tool as a task: creates it, polls it, and fetches its result. */
const task =
  (name: string, args: Record<string, unknown>): Step =>
  async ({ client }) => {
    const stream = client.experimental.tasks.callToolStream({ name, arguments: args }, CallToolResultSchema, {
      task: { ttl: 60_000 },
    });
    const kinds = new Set<string>();
    let last: unknown;
    for await (const message of stream) {
      kinds.add(message.type);
      last = message;
    }
    return { kinds: [...kinds], last };
  };

const progress: Step = async ({ client }) => {
  const seen: unknown[] = [];
  const call = { name: "trigger-long-running-operation", arguments: { duration: 0.4, steps: 4 } };
  const result = await client.callTool(call, undefined, { onprogress: (progress) => seen.push(progress) });
  return { result, seen };
};

const cancelled: Step = async ({ client }) => {
  const call = { name: "trigger-long-running-operation", arguments: { duration: 30, steps: 3 } };
  const outcome = client.callTool(call, undefined, { signal: AbortSignal.timeout(100) });
  await outcome.catch(() => {});
  return client.ping();
};

const logs: Step = async ({ client, notifications }) => {
  await client.setLoggingLevel("debug");
  await client.callTool({ name: "toggle-simulated-logging" });
  await waitUntil("a log message", () => notifications.logs.some((text) => /level.message/.test(String(text))));
  return client.callTool({ name: "toggle-simulated-logging" });
};

const document = "demo://resource/static/document/features.md";

const updates: Step = async ({ client, notifications }) => {
  await client.subscribeResource({ uri: document });
  await client.callTool({ name: "toggle-subscriber-updates" });
  await waitUntil("an update", () => notifications.updated.includes(document));
  await client.callTool({ name: "toggle-subscriber-updates" });
  return client.unsubscribeResource({ uri: document });
};

const allResources: Step = async ({ client }) => {
  const { resources } = await client.listResources();
  return Promise.all(resources.map(({ uri }) => client.readResource({ uri })));
};

const templates: Step = async ({ client }) => {
  const { resourceTemplates } = await client.listResourceTemplates();
  const made = resourceTemplates.map(({ uriTemplate }) => uriTemplate.replace(/\{[^}]*\}/, "7"));
  return { resourceTemplates, read: await Promise.all(made.map((uri) => client.readResource({ uri }))) };
};

const promptArguments: Readonly<Record<string, Record<string, string>>> = {
  "args-prompt": { city: "Oslo", state: "Østlandet" },
  "completable-prompt": { department: "Engineering", name: "Alice" },
  "resource-prompt": { resourceType: "Text", resourceId: "3" },
};

const allPrompts: Step = async ({ client }) => {
  const { prompts } = await client.listPrompts();
  return Promise.all(prompts.map(({ name }) => client.getPrompt({ name, arguments: promptArguments[name] ?? {} })));
};

const completions: Step = async ({ client }) => {
  const ref = { type: "ref/prompt", name: "completable-prompt" } as const;
  const argument = { name: "name", value: "" };
  return Promise.all([
    client.complete({ ref, argument: { name: "department", value: "E" } }),
    client.complete({ ref, argument, context: { arguments: { department: "Sales" } } }),
    client.complete({
      ref: { type: "ref/resource", uri: "demo://resource/dynamic/text/{resourceId}" },
      argument: { name: "resourceId", value: "1" },
    }),
  ]);
};

const listedTools: Step = async ({ client }) => (await client.listTools()).tools;

/** From `data:`, so that nothing is fetched; under its own name, since the server keeps one such file for all. */
const gzipped: Step = ({ client, transport }) => {
  const file = { name: `${transport.sessionId}.gz`, data: "data:text/plain,hello", outputType: "resource" };
  return client.callTool({ name: "gzip-file-as-resource", arguments: file });
};

const newRoots: Step = async ({ client, serverRequests }) => {
  const before = serverRequests.filter((method) => method === "roots/list").length;
  await client.sendRootsListChanged();
  await waitUntil("roots/list", () => serverRequests.filter((method) => method === "roots/list").length > before);
  return "asked";
};

/** The whole protocol in one session, in this order; the last one ends it. */
export const steps: Readonly<Record<string, Step>> = {
  ping: ({ client }) => client.ping(),
  "the server's version, capabilities and instructions": async ({ client }) => [
    client.getServerVersion(),
    client.getServerCapabilities(),
    client.getInstructions(),
  ],
  "tools/list": listedTools,
  echo: tool("echo", { message: "Grüße, 世界 \u{1F44B}" }),
  "echo of a long message": tool("echo", { message: "x".repeat(200_000) }),
  "echo without its argument": tool("echo"),
  "an unknown tool": tool(absentTool),
  "get-annotated-message": tool("get-annotated-message", { messageType: "error", includeImage: true }),
  "get-env": tool("get-env"),
  "get-resource-links": tool("get-resource-links", { count: 4 }),
  "get-resource-reference": tool("get-resource-reference", { resourceType: "Blob", resourceId: 2 }),
  "get-roots-list": tool("get-roots-list"),
  "get-structured-content": tool("get-structured-content", { location: "Chicago" }),
  "get-sum": tool("get-sum", { a: 2.5, b: -4 }),
  "get-tiny-image": tool("get-tiny-image"),
  "gzip-file-as-resource": gzipped,
  "trigger-sampling-request": tool("trigger-sampling-request", { prompt: "p", maxTokens: 5 }),
  "trigger-elicitation-request": tool("trigger-elicitation-request"),
  "trigger-url-elicitation": tool("trigger-url-elicitation", { url: "https://example.test/", elicitationId: "one" }),
  "trigger-url-elicitation by an error": tool("trigger-url-elicitation", {
    url: "https://example.test/",
    elicitationId: "two",
    errorPath: true,
  }),
  "trigger-sampling-request-async": tool("trigger-sampling-request-async", { prompt: "p", maxTokens: 5 }),
  "trigger-elicitation-request-async": tool("trigger-elicitation-request-async"),
  "simulate-research-query": task("simulate-research-query", { topic: "proxies", ambiguous: true }),
  "tasks/list": async ({ client }) => (await client.experimental.tasks.listTasks()).tasks.length,
  "progress of trigger-long-running-operation": progress,
  "a call that is cancelled": cancelled,
  "logging/setLevel and toggle-simulated-logging": logs,
  "notifications/roots/list_changed": newRoots,
  "resources/list": async ({ client }) => (await client.listResources()).resources,
  "resources/read of every resource": allResources,
  "resources/read of an unknown resource": ({ client }) => client.readResource({ uri: "demo://nothing" }),
  "resources/templates/list and a resource of each": templates,
  "resources/subscribe, toggle-subscriber-updates and resources/unsubscribe": updates,
  "prompts/list": async ({ client }) => (await client.listPrompts()).prompts,
  "prompts/get of every prompt": allPrompts,
  "prompts/get of an unknown prompt": ({ client }) => client.getPrompt({ name: "nothing" }),
  "completion/complete": completions,
  "GET with Last-Event-ID": resumed,
  "DELETE, and a call after it": async ({ client, transport }) => {
    await transport.terminateSession();
    return client.ping();
  },
};

/** The result of each step, errors included; values that differ between runs are replaced by their kind. */
export async function walk(agent: McpAgent): Promise<Readonly<Record<string, unknown>>> {
  const outcomes: Record<string, unknown> = {};
  for (const [name, step] of Object.entries(steps)) {
    outcomes[name] = await step(agent).then(steadied, (error: Error & { code?: unknown; data?: unknown }) =>
      steadied({ failed: error.message, code: error.code, data: error.data }),
    );
  }
  return outcomes;
}

const steadied = (value: unknown): unknown => JSON.parse(JSON.stringify(value ?? null, steadiedText));

const steadiedText = (name: string, value: unknown): unknown => {
  if (typeof value !== "string") return value;
  const decoded = name === "blob" ? Buffer.from(value, "base64").toString("latin1") : value;
  const steady = decoded
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, "<uuid>")
    .replaceAll(/\b[0-9a-f]{32}\b/g, "<task>")
    .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, "<time>")
    .replaceAll(/\d{1,2}:\d\d:\d\d( [AP]M)?/g, "<clock>");
  return steady === decoded ? value : steady;
};
