import type { z } from "zod";
import { DiscoveryFault, faultBehind } from "./fault.ts";

/** Fetches one JSON document and reads it by its schema. */
export async function fetchJson<Schema extends z.ZodType>(
  fetch: typeof globalThis.fetch,
  url: URL,
  schema: Schema,
): Promise<z.output<Schema>> {
  const response = await fetch(url, { headers: { accept: "application/json" } });
  if (!response.ok) throw new DiscoveryFault("status");
  const read = schema.safeParse(parse(await textOf(response)));
  if (!read.success) throw new DiscoveryFault("unreadable", { cause: read.error });
  return read.data;
}

async function textOf(response: Response): Promise<string> {
  try {
    return await response.text();
  } catch (error) {
    throw faultBehind(error) ?? new DiscoveryFault("unreachable", { cause: error });
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new DiscoveryFault("unreadable", { cause: error });
  }
}
