import type { RawQuery } from "../http/query.ts";
import type { Deps } from "../routes/deps.ts";
import type { Markup } from "./markup.ts";

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
export type Section = (typeof sections)[number]["name"];

/** What stands between navigation and footer. */
export interface View {
  readonly title: string;
  readonly section: Section;
  readonly body: Markup;
  /** Draws plots: loads what that takes. */
  readonly plots?: true;
}

export interface PageRequest {
  /** Percent-decoded once. */
  readonly params: Readonly<Record<string, string>>;
  /** What the address says, fields that a form left empty apart. */
  readonly query: RawQuery;
}

/** A read-only page: what it shows comes out of the same ports and commands as the routes' answers. */
export interface Page {
  /** In the router's spelling: `/console/actions/:action_id`. */
  readonly path: string;
  /** @throws {ApiError} which becomes a page that says what to do */
  render(deps: Deps, request: PageRequest): View | Promise<View>;
}
