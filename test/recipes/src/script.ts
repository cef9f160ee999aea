/** What a model is asked. */
export interface Asked {
  /** Names of tools. */
  readonly offered: readonly string[];
  /** The result of the newest tool call, as text. */
  readonly result: string | undefined;
}

/** What it does. */
export type Step = { readonly call: string } | { readonly say: string };

/** Calls `first`, then what the last result names as callable instead, and ends with the last result as the answer. */
export function next({ offered, result }: Asked, first: string): Step {
  if (result === undefined) return { call: offered.find(isCalled(first)) ?? "no such tool" };
  const named = /instead you may call: ([\w, -]+)/.exec(result)?.[1]?.split(", ") ?? [];
  const other = named.flatMap((name) => offered.find(isCalled(name)) ?? [])[0];
  return other === undefined ? { say: `The tool said: ${result}` } : { call: other };
}

/** Some libraries put the server's name before the tool's. */
const isCalled = (tool: string) => (name: string) => name === tool || name.endsWith(`_${tool}`);
