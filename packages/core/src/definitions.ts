/** The members of an MCP tool that say what it is and does, beside its name (MCP: Tool). */
export const definitionMembers = ["title", "description", "inputSchema", "outputSchema", "annotations"] as const;
export type DefinitionMember = (typeof definitionMembers)[number];

/** Characters of one member's part. */
export const definitionPartLength = 8;

/** What an MCP tool was when it was accepted (docs/reference/manifest.md#tool-definitions). */
export interface DefinitionPin {
  /** base64url(SHA-256) of the canonical form (RFC 8785) of its name and members. */
  readonly hash: string;
  /** The beginnings of the members' own hashes, in their order: they show which one changed. */
  readonly parts: string;
}

export interface ToolDefinition extends DefinitionPin {
  /** The canonical form. */
  readonly text: string;
}

export type Definitions = ReadonlyMap<string, DefinitionPin>;

/** A definition that differs from the one that the agent's manifest was accepted with before. */
export interface DefinitionChange {
  readonly ref: string;
  readonly changed: readonly DefinitionMember[];
  /** Hashes. */
  readonly before: string;
  readonly now: string;
}

export const changedMembers = (before: string, now: string): readonly DefinitionMember[] =>
  definitionMembers.filter((_member, at) => partAt(before, at) !== partAt(now, at));

const partAt = (parts: string, at: number): string =>
  parts.slice(at * definitionPartLength, (at + 1) * definitionPartLength);
