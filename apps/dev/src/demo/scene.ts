import assert from "node:assert/strict";
import { Client } from "@modelcontextprotocol/sdk/client/index.js";
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/sdk/client/streamableHttp.js";
import { AuthzClient, type HopContext, type Session } from "@svc/client";
import type { ScriptedBrowser } from "../provider/scripted-browser.ts";
import type { Stack } from "../stack/stack.ts";

/** What the steps share: the running stack, and what earlier steps obtained. */
export interface Scene {
  readonly stack: Stack;
  readonly client: AuthzClient;
  /** Alice's session. */
  session?: Session;
  /** The planner's place in it. */
  planner?: HopContext;
  /** The action of the privileged call. */
  posted?: string;
  /** The browser of a person who signed in, and the MCP client that she let in. */
  ada?: { readonly browser: ScriptedBrowser; readonly client: Client };
}

/** What a step reports: the request, the decision, and its reason. */
export interface Reporter {
  asked(text: string): void;
  decided(text: string): void;
  why(text: string): void;
}

/** One step of the story. Throws where the result is not the expected one. */
export interface Step {
  readonly title: string;
  run(scene: Scene, report: Reporter): Promise<void>;
}

export function newScene(stack: Stack): Scene {
  const { admin, audit, identity } = stack.bearers;
  const bearers = { adminToken: admin, auditToken: audit, identityToken: identity };
  return { stack, client: new AuthzClient({ baseUrl: stack.controlPlane, tracePath: "", ...bearers }) };
}

/** What an earlier step obtained. */
export function obtained<Name extends "session" | "planner" | "posted" | "ada">(
  scene: Scene,
  name: Name,
): NonNullable<Scene[Name]> {
  const value = scene[name];
  assert(value !== undefined, `an earlier step left no ${name}`);
  return value;
}

/** A call of the planner through the enforcement point; a POST where it has a body. */
export async function guarded<Body>(scene: Scene, path: string, json?: object) {
  const response = await fetch(`${scene.stack.pep}${path}`, {
    method: json === undefined ? "GET" : "POST",
    headers: { ...obtained(scene, "planner").headers(), "content-type": "application/json" },
    ...(json !== undefined && { body: JSON.stringify(json) }),
  });
  const blocked = response.headers.get("x-svc-blocked");
  return { status: response.status, blocked, body: (await response.json()) as Body };
}

/** A stock MCP client of the planner, with the enforcement point as its server. */
export async function withMcpClient<T>(scene: Scene, server: string, use: (client: Client) => Promise<T>): Promise<T> {
  const client = new Client({ name: "planner", version: "1.0.0" });
  const transport = new StreamableHTTPClientTransport(new URL(`${scene.stack.pep}/${server}`), {
    requestInit: { headers: obtained(scene, "planner").headers() },
  });
  // The SDK's own types disagree on an optional session id.
  await client.connect(transport as Parameters<Client["connect"]>[0]);
  try {
    return await use(client);
  } finally {
    await client.close();
  }
}

/** The text of a tool's result. */
export async function callTool(client: Client, name: string, args: Record<string, unknown> = {}): Promise<string> {
  const { content } = await client.callTool({ name, arguments: args });
  return (content as { type: string; text?: string }[]).map(({ text = "" }) => text).join(" ");
}
