import type { ChangedDefinition, DefinitionChange, DefinitionPin, Definitions, ToolDefinition } from "@svc/core";
import { sha256Base64url } from "@svc/tokens";
import type { Pool, Transaction } from "./database.ts";

/** Equal definitions are equal bytes. */
export const encodeDefinitions = (definitions: Definitions): string =>
  JSON.stringify([...definitions].map(([ref, { hash, parts }]) => [ref, hash, parts]));

export function decodeDefinitions(text: string): Definitions {
  const pins = JSON.parse(text) as readonly (readonly [ref: string, hash: string, parts: string])[];
  return new Map(pins.map(([ref, hash, parts]): [string, DefinitionPin] => [ref, { hash, parts }]));
}

export async function addDefinitions(tx: Transaction, definitions: Iterable<ToolDefinition>, at: Date): Promise<void> {
  const texts = new Map([...definitions].map(({ hash, text }) => [hash, text]));
  await tx`
    insert into tool_definition (hash, definition, accepted_at)
    select hash, definition, ${at} from unnest(${[...texts.keys()]}::text[], ${[...texts.values()]}::text[])
      as read (hash, definition) order by hash
    on conflict do nothing`;
}

/** By hash. A text that is not the one of its hash counts as none. */
export async function definitionTexts(
  { rows }: Pick<Pool, "rows">,
  hashes: readonly string[],
): Promise<ReadonlyMap<string, string>> {
  if (hashes.length === 0) return new Map();
  const stored = await rows<{ hash: string; definition: string }>`
    select hash, definition from tool_definition where hash = any(${hashes as string[]}::text[])`;
  return new Map(stored.map(({ definition }) => [sha256Base64url(definition), definition]));
}

/** The changes of each report with their texts. */
export async function withTexts<R extends { readonly definitions: readonly DefinitionChange[] }>(
  { rows }: Pick<Pool, "rows">,
  reports: readonly R[],
): Promise<readonly (Omit<R, "definitions"> & { readonly definitions: readonly ChangedDefinition[] })[]> {
  const hashes = reports.flatMap(({ definitions }) => definitions.flatMap(({ before, now }) => [before, now]));
  const texts = await definitionTexts({ rows }, hashes);
  const textOf = (hash: string) => texts.get(hash) ?? null;
  return reports.map(({ definitions, ...report }) => ({
    ...report,
    definitions: definitions.map(({ before, now, ...change }) => ({
      ...change,
      before: textOf(before),
      now: textOf(now),
    })),
  }));
}
