import { segmentsOf } from "@svc/classify";
import type { BlockCause } from "@svc/core";

/** A call that observe mode could not decide in full, as the upstreams file or the agent could be changed for it. */
export interface UnlistedCall {
  readonly upstream: string;
  readonly method: string;
  /** A path as a route spells it, or the method of an MCP message after `#`. */
  readonly path: string;
  readonly cause: BlockCause;
}

/** Some 200 bytes each. */
const maxEntries = 1_000;

/** Counts calls by upstream, method, path template and cause, for `GET /__svc/unlisted`. In memory and bounded. */
export function createUnlistedCalls() {
  const counts = new Map<string, UnlistedCall & { count: number }>();
  let dropped = 0;
  return {
    note(call: UnlistedCall) {
      const key = [call.upstream, call.method, call.path, call.cause].join("\n");
      const known = counts.get(key);
      if (known) known.count += 1;
      else if (counts.size < maxEntries) counts.set(key, { ...call, count: 1 });
      else dropped += 1;
    },
    /** The most frequent first. `dropped`: calls that found the list full. */
    read: () => ({ unlisted: [...counts.values()].sort((a, b) => b.count - a.count), dropped }),
  };
}

export type UnlistedCalls = ReturnType<typeof createUnlistedCalls>;

const maxSegments = 16;

/** The path with `:id` for each segment that looks like a value: no identifier is kept, and few templates exist. */
export function pathTemplate(path: string): string {
  const segments = segmentsOf(path);
  const kept = segments.slice(0, maxSegments).map((segment) => (isWord(segment) ? segment : ":id"));
  return `/${kept.join("/")}${segments.length > maxSegments ? "/*" : ""}`;
}

/** `entries`, `v1`, `oauth2`, `index.html`; empty after a trailing slash. */
const isWord = (segment: string): boolean => /^(?:v\d{1,3}|[a-z][a-z._~-]{0,31}\d?)?$/i.test(segment);
