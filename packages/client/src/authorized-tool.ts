import type { Taint } from "@svc/core";
import type { Params } from "./authorized-request.ts";
import type { AuthzClient } from "./client.ts";
import type { DataClass } from "./data-class.ts";
import type { Grant, HopContext } from "./hop-context.ts";
import type { CallOptions } from "./plane.ts";

/** The target and data class of a function. */
export interface ToolHop {
  readonly target: string;
  /** A function gives it by the parameters. */
  readonly dataClass: DataClass;
}

/** Options of one call of an authorized tool. */
export interface ToolOptions extends CallOptions {
  readonly taint?: Taint | undefined;
}

/**
 * Wraps a function so that it runs only with a grant for exactly its parameters.
 *
 * ```ts
 * const postEntry = authorizedTool(svc, { target: "http:ledger/post_entry", dataClass: "finance" }, post);
 * await postEntry(context, { amount: 5 });
 * ```
 * @throws as `AuthzClient.authorize` and `run`
 */
export const authorizedTool =
  <Args extends Params, Result>(
    client: Pick<AuthzClient, "authorize">,
    hop: ToolHop,
    run: (params: Args, grant: Grant, options: CallOptions) => Result | Promise<Result>,
  ) =>
  async (context: HopContext, params: Args, { taint, signal }: ToolOptions = {}): Promise<Result> => {
    const request = { ...hop, targetKind: "tool", params, taint } as const;
    return run(params, await client.authorize(context, request, { signal }), { signal });
  };
