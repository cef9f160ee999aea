import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { InMemoryTaskStore } from "@modelcontextprotocol/sdk/experimental/tasks";
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
} from "@modelcontextprotocol/sdk/types.js";
import { waitUntil } from "@svc/test-support";

/** The official client, able to respond to every server request. */
export interface McpAgent {
  readonly client: Client;
  readonly transport: StreamableHTTPClientTransport;
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The server's notifications: log messages and changed resources. */
  readonly notifications: { readonly logs: unknown[]; readonly updated: string[] };
  /** The server's requests, by method. */
  readonly serverRequests: string[];
  close(): Promise<void>;
}

export async function connectAgent(url: string, headers: Readonly<Record<string, string>>): Promise<McpAgent> {
  const taskStore = new InMemoryTaskStore();
  const client = new Client(
    { name: "agent", version: "1" },
    {
      capabilities: {
        sampling: {},
        elicitation: { form: {}, url: {} },
        roots: { listChanged: true },
        tasks: { list: {}, cancel: {}, requests: { sampling: { createMessage: {} }, elicitation: { create: {} } } },
      },
      taskStore,
    },
  );
  const notifications = { logs: [] as unknown[], updated: [] as string[] };
  const serverRequests: string[] = [];
  client.setNotificationHandler(
    LoggingMessageNotificationSchema,
    ({ params }) => void notifications.logs.push(params.data),
  );
  client.setNotificationHandler(
    ResourceUpdatedNotificationSchema,
    ({ params }) => void notifications.updated.push(params.uri),
  );
  client.setRequestHandler(ListRootsRequestSchema, ({ method }) => {
    serverRequests.push(method);
    return { roots: [{ uri: "file:///workspace", name: "workspace" }] };
  });
  client.setRequestHandler(CreateMessageRequestSchema, async ({ method, params }, extra) => {
    serverRequests.push(method);
    const said = { role: "assistant", model: "none", content: { type: "text", text: "sampled" } } as const;
    return params.task ? laterResult(extra.taskStore, said) : said;
  });
  client.setRequestHandler(ElicitRequestSchema, async ({ method, params }, extra) => {
    serverRequests.push(method);
    const isUrl = params.mode === "url";
    const said = {
      action: "accept",
      ...(!isUrl && { content: { name: "Ada", interpretation: "technical" } }),
    } as const;
    return params.task ? laterResult(extra.taskStore, said) : said;
  });
  let isListening = false;
  const transport = new StreamableHTTPClientTransport(new URL(url), {
    requestInit: { headers },
    async fetch(input, init) {
      const response = await fetch(input, init);
      if (init?.method === "GET" && response.ok) isListening = true;
      return response;
    },
  });
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  // A server's notification before the handler is registered would be lost.
  await waitUntil("the stream to be listened on", () => isListening);
  return {
    client,
    transport,
    url,
    headers,
    notifications,
    serverRequests,
    async close() {
      taskStore.cleanup();
      await client.close();
    },
  };
}

type RequestTasks = NonNullable<Parameters<Parameters<Client["setRequestHandler"]>[1]>[1]["taskStore"]>;

/** Returns a task at once; its result is ready when it is fetched. */
async function laterResult(tasks: RequestTasks | undefined, result: Record<string, unknown>) {
  if (!tasks) throw new Error("no task store");
  const task = await tasks.createTask({ ttl: 60_000 });
  await tasks.storeTaskResult(task.taskId, "completed", result);
  return { task };
}
