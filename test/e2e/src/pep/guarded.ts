import { once } from "node:events";
import { Agent, type ClientRequest, type IncomingMessage, type RequestOptions, request } from "node:http";
import { openStand, type Stand, type StandOptions } from "@svc/test-conformance/stand";

/** The declared tools of these tests' agent, and their paths. */
const operations = {
  read: { methods: ["GET"], path: "/read" },
  write: { methods: ["POST"], path: "/write", privileged: true },
  /** Accepts taint, so that a body streams. */
  any: { methods: ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"], path: "/any/*" },
} as const;

export const routes = Object.entries(operations).map(([name, { methods, path }]) => ({
  methods,
  path,
  target: `http:app/${name}`,
  data_class: "docs",
}));

export const tools = Object.entries(operations).map(([name, operation]) => ({
  ref: `http:app/${name}`,
  data_classes: ["docs"],
  privileged: "privileged" in operation,
}));

export const scope = "work";

/** A real control plane and enforcement point; `app` is the stand's upstream unless named here. */
export const openGuarded = (options: Partial<StandOptions> & { appUrl?: string; app?: object } = {}): Promise<Stand> =>
  openStand({
    scopes: { [scope]: { hop_budget: 2, tools } },
    upstreams: (url) => [{ name: "app", url: options.appUrl ?? url, routes, ...options.app }],
    ...options,
  });

export interface AgentHeaders extends Record<string, string> {
  readonly authorization: string;
  readonly "x-svc-session": string;
}

/** The headers of an agent in a new session. */
export async function headersOf({ api }: Pick<Stand, "api">): Promise<AgentHeaders> {
  const { session, token } = await api.consent(scope);
  return { authorization: `Bearer ${token}`, "x-svc-session": session };
}

export interface CallResult {
  readonly status: number;
  /** The cause of a block. */
  readonly blocked: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

export async function responseOf(sent: ClientRequest): Promise<CallResult> {
  const [response] = (await once(sent, "response")) as [IncomingMessage];
  const body = Buffer.concat(await response.toArray());
  const blocked = response.headers["x-svc-blocked"];
  return { status: response.statusCode ?? 0, blocked: blocked?.toString(), headers: response.headers, body };
}

/** Calls through an enforcement point, over kept-alive connections. */
export function callerOf(url: string, headers: Record<string, string>) {
  const agent = new Agent({ keepAlive: true });
  return {
    call: (
      path: string,
      { body, ...options }: RequestOptions & { body?: string | Buffer } = {},
    ): Promise<CallResult> => {
      const sent = request(`${url}${path}`, { agent, ...options, headers: { ...headers, ...options.headers } });
      return responseOf(sent.end(body));
    },
    close: () => agent.destroy(),
  };
}
