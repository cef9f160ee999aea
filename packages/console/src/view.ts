import type { ContentfulStatusCode } from "hono/utils/http-status";
import type { Markup } from "./markup.ts";
import type { ConsolePorts, Query } from "./ports.ts";

/** The parts of the console that the navigation leads to. */
export const sections = [
  { path: "/console", name: "Overview" },
  { path: "/console/decisions", name: "Decisions" },
  { path: "/console/would-block", name: "Would block" },
  { path: "/console/scopes", name: "Scopes" },
  { path: "/console/agents", name: "Agents" },
  { path: "/console/sessions", name: "Sessions" },
  { path: "/console/denials", name: "Denials" },
] as const;

export interface View {
  readonly title: string;
  readonly section?: (typeof sections)[number]["name"];
  readonly body: Markup;
  /** 200 by default. */
  readonly status?: ContentfulStatusCode;
  readonly headers?: Readonly<Record<string, string>>;
  /** Loads the scripts that draw plots. */
  readonly plots?: true;
}

export interface PageRequest {
  /** Percent-decoded once. */
  readonly params: Readonly<Record<string, string>>;
  /** Without the fields that a form left empty. */
  readonly query: Query;
}

export interface Page {
  /** In the router's spelling: `/console/actions/:action_id`. */
  readonly path: string;
  render(ports: ConsolePorts, request: PageRequest): View | Promise<View>;
}
