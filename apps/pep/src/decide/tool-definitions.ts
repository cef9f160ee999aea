import { changedMembers, type DefinitionPin } from "@svc/core";

interface ChangedTool {
  readonly upstream: string;
  readonly tool: string;
  /** Members; `definition` where it cannot be read, or cannot be told apart. */
  readonly changed: readonly string[];
  /** RFC 3339. */
  readonly first_seen: string;
  count: number;
}

/** Of each list below. */
const maxEntries = 10_000;

/**
 * Compares what MCP servers list with what sessions pinned (docs/reference/enforcement-point.md#changed-tools). In memory
 * and bounded.
 * @param onChange called for the first sight of a change
 */
export function createToolDefinitions(onChange: () => void, now: () => number) {
  /** By target, as the newest list has it; null where it has no canonical form. */
  const listed = new Map<string, DefinitionPin | null>();
  const changes = new Map<string, ChangedTool>();
  let dropped = 0;

  function count(upstream: string, tool: string, pin: DefinitionPin, changed: readonly string[]): void {
    const key = `${pin.hash} ${tool}`;
    const known = changes.get(key);
    if (known && known.changed.join() === changed.join()) known.count += 1;
    else if (!known && changes.size === maxEntries) dropped += 1;
    else {
      changes.set(key, { upstream, tool, changed, first_seen: new Date(now()).toISOString(), count: 1 });
      onChange();
    }
  }

  /** What differs from the pin in the newest list; undefined: nothing, or the tool was in no list. */
  function changeOf(upstream: string, tool: string, pin: DefinitionPin): readonly string[] | undefined {
    const seen = listed.get(tool);
    if (seen === undefined || seen?.hash === pin.hash) return undefined;
    const members = seen === null || pin.parts === "" ? [] : changedMembers(pin.parts, seen.parts);
    const changed = members.length > 0 ? members : ["definition"];
    count(upstream, tool, pin, changed);
    return changed;
  }

  return {
    changeOf,
    wasListed: (tool: string): boolean => listed.has(tool),
    /** For some session: another may have pinned what is listed now. */
    hasChanged: (tool: string): boolean => [...changes.values()].some((change) => change.tool === tool),
    /** Takes note of a listed tool. @returns what differs from the pin */
    note(upstream: string, tool: string, pin: DefinitionPin, definition: DefinitionPin | undefined) {
      if (listed.has(tool) || listed.size < maxEntries) {
        listed.set(tool, definition ? { hash: definition.hash, parts: definition.parts } : null);
      }
      if (definition?.hash === pin.hash) changes.delete(`${pin.hash} ${tool}`);
      return changeOf(upstream, tool, pin);
    },
    /** The newest first. `dropped`: changes that found the list full. */
    read: () => ({ changed: [...changes.values()].reverse(), dropped }),
  };
}

export type ToolDefinitions = ReturnType<typeof createToolDefinitions>;
