import { readFileSync } from "node:fs";
import { parse } from "yaml";
import type { UpstreamEntry } from "../protocols/protocols.ts";
import { readUpstreams, upstreamsFile } from "../upstreams/upstreams-file.ts";

/** In place of the public address, which each enforcement point that serves the file has from its settings. */
const anywhere = new URL("https://enforcement-point.invalid");

/**
 * The entries of an upstreams file alone: what it names is not read, so that the file can be judged anywhere.
 * @throws {Error} with its faults, a line each
 */
export function entriesOf(file: string): readonly UpstreamEntry[] {
  const content = readFileSync(file, "utf8");
  const read = readUpstreams(content, {
    defaultMode: "observe",
    publicUrl: anywhere,
    readFile: () => "unread",
  });
  if (!read.ok) throw new Error(read.faults.map((fault) => `${file}: ${fault}`).join("\n"));
  return upstreamsFile.parse(parse(content)).upstreams;
}
