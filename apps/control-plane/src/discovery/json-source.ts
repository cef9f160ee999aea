import type { z } from "zod";
import { DiscoveryFault } from "./fault.ts";

/** Fetches one JSON document and reads it by its schema. */
export async function fetchJson<Schema extends z.ZodType>(
  fetch: typeof globalThis.fetch,
  url: URL,
  schema: Schema,
): Promise<z.output<Schema>> {
  const response = await fetch(url, { headers: { accept: "application/json" } });
  if (!response.ok) throw new DiscoveryFault("status");
  const text = await response.text();
  const read = schema.safeParse(parse(text));
  if (!read.success) throw new DiscoveryFault("unreadable", { cause: read.error });
  return read.data;
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DiscoveryFault("unreadable", { cause: error });
  }
}
