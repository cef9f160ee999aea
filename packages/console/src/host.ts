import type { Context } from "hono";
import type { ConsolePorts, Viewer } from "./ports.ts";
import type { signIns } from "./sign-in.ts";
import type { View } from "./view.ts";

export type Answer = Response | Promise<Response>;

/** One request handler's means: the ports, the sign-ins and how a view becomes a response. */
export interface Host extends ConsolePorts {
  readonly cookies: ReturnType<typeof signIns>;
  show(c: Context, view: View, viewer?: Viewer): Answer;
}
