import { z } from "zod";
import { http } from "./http.ts";
import { mcp } from "./mcp.ts";
import type { Protocol } from "./protocol.ts";

/** The protocol of an upstream that names none. */
export const defaultProtocol = "http";

/** One upstream in the file. A new protocol is a file of its own, one word here and one line below. */
export const upstreamEntry = z.discriminatedUnion("protocol", [http.entry, mcp.entry]);
export type UpstreamEntry = z.output<typeof upstreamEntry>;

type Name = UpstreamEntry["protocol"];
type EntryOf<N extends Name> = Extract<UpstreamEntry, { protocol: N }>;

const creators: { [N in Name]: (entry: EntryOf<N>) => Protocol } = { http: http.create, mcp: mcp.create };

export const protocolOf = <N extends Name>(entry: EntryOf<N> & { protocol: N }): Protocol =>
  creators[entry.protocol](entry);
