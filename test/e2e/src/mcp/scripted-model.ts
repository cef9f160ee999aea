/** What a model sees of a tool's answer. */
export interface Observation {
  readonly text: string;
  readonly isError: boolean;
  /** For the program around the model: what a denial has beside its text. */
  readonly data?: Readonly<Record<string, unknown>> | undefined;
}

export interface Turn {
  readonly tool: string;
  readonly seen: Observation;
}

/** Chooses the next tool out of those listed, by what it saw of the calls before; undefined: it gives up. */
export type Model = (tools: readonly string[], turns: readonly Turn[]) => string | undefined;

/** Calls what the model chooses until a call succeeds or the model gives up. */
export async function agentLoop(
  model: Model,
  tools: readonly string[],
  callTool: (name: string) => Promise<Observation>,
): Promise<readonly Turn[]> {
  const turns: Turn[] = [];
  for (let tool = model(tools, turns); tool !== undefined; tool = model(tools, turns)) {
    const seen = await callTool(tool);
    turns.push({ tool, seen });
    if (!seen.isError) break;
  }
  return turns;
}

/** Reads the text alone: after a denial it takes a tool that the text names and that it was not denied before. */
export const readingText =
  (first: string): Model =>
  (tools, turns) => {
    const last = turns.at(-1);
    if (!last) return first;
    const named = /instead you may call: ([^;]+)/.exec(last.seen.text)?.[1]?.split(", ") ?? [];
    return named.find((name) => tools.includes(name) && turns.every(({ tool }) => tool !== name));
  };

/** Reads the data alone: it leaves out what was denied as undeclared, and takes the next of its list. */
export const readingData =
  (first: string): Model =>
  (tools, turns) => {
    const last = turns.at(-1);
    if (!last) return first;
    if (last.seen.data?.reason !== "TARGET_NOT_DECLARED") return undefined;
    const denied = turns.map(({ seen }) => String(seen.data?.target).split("/").at(-1));
    return tools.find((name) => !denied.includes(name));
  };
