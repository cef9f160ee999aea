import { readFileSync } from "node:fs";
import { text } from "node:stream/consumers";
import { type Suggestions, unlistedCalls } from "@svc/core";
import { parse } from "yaml";
import type { UpstreamEntry } from "../protocols/protocols.ts";
import { readUpstreams, upstreamsFile } from "../upstreams/upstreams-file.ts";
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

/** Of the file alone: what it names is not read, so that the file can be judged anywhere. */
function entriesOf(file: string): readonly UpstreamEntry[] {
  const content = readFileSync(file, "utf8");
  const read = readUpstreams(content, { defaultMode: "observe", readFile: () => "unread" });
  if (!read.ok) throw new Error(read.faults.map((fault) => `${file}: ${fault}`).join("\n"));
  return upstreamsFile.parse(parse(content)).upstreams;
}
