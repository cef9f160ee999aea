import { BoundedMap } from "../decide/bounded-map.ts";
import { type RawHeaders, valuesOf } from "../message/headers.ts";

const maxSessions = 4096;

export type ElicitingSessions = ReturnType<typeof createElicitingSessions>;

/**
 * MCP sessions whose client opens addresses for its person: it says so once, in `initialize`. A session that was forgotten
 * is answered as one whose client does not.
 */
export function createElicitingSessions() {
  const known = new BoundedMap<string, true>(maxSessions);
  // No name of an upstream holds a blank.
  const keyOf = (upstream: string, headers: RawHeaders): string | undefined => {
    const [id, ...others] = valuesOf(headers, "mcp-session-id");
    return id === undefined || others.length > 0 ? undefined : `${upstream} ${id}`;
  };
  return {
    /** @param answered the headers of the answer to `initialize` */
    opened(upstream: string, answered: RawHeaders): void {
      const key = keyOf(upstream, answered);
      if (key !== undefined) known.set(key, true);
    },
    has(upstream: string, received: RawHeaders): boolean {
      const key = known.size === 0 ? undefined : keyOf(upstream, received);
      return key !== undefined && known.get(key) === true;
    },
  };
}
