import { text } from "node:stream/consumers";
import { type Suggestions, unlistedCalls } from "@svc/core";
import { entriesOf } from "./file-entries.ts";
import { suggestRoutes } from "./suggest-routes.ts";

/**
 * Returns the exit code of `--suggest`: 0 the entries were printed, as one line of JSON; 2 an input cannot be used.
 * @param file the upstreams file that the entries would be added to; without it, to an empty one
 */
export async function runSuggest(
  file: string | undefined,
  input: NodeJS.ReadableStream,
  print: (line: string) => void,
  log: (line: string) => void,
): Promise<number> {
  try {
    const entries = file === undefined ? undefined : entriesOf(file);
    const { unlisted, dropped } = listOf(await text(input));
    print(JSON.stringify({ upstreams: suggestRoutes(unlisted, entries), dropped } satisfies Suggestions));
    return 0;
  } catch (error) {
    log(error instanceof Error ? error.message : "the input cannot be used");
    return 2;
  }
}

function listOf(json: string) {
  try {
    return unlistedCalls.parse(JSON.parse(json));
  } catch {
    throw new Error("standard input must be the answer of GET /__svc/unlisted");
  }
}
