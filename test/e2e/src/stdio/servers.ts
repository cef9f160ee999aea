import { fileURLToPath } from "node:url";

const programs = {
  everything: import.meta.resolve("@modelcontextprotocol/server-everything/dist/index.js"),
  filesystem: import.meta.resolve("@modelcontextprotocol/server-filesystem/dist/index.js"),
  memory: import.meta.resolve("@modelcontextprotocol/server-memory/dist/index.js"),
} as const;

/** The command line of an official server over stdio. */
export const officialServer = (name: keyof typeof programs, ...args: string[]): readonly [string, ...string[]] => [
  process.execPath,
  fileURLToPath(programs[name]),
  ...args,
];

/** The command line of a server that speaks MCP 2026-07-28 alone, by the official SDK. */
export const statelessServer = (...args: string[]): readonly [string, ...string[]] => [
  process.execPath,
  fileURLToPath(new URL("./stateless-server.ts", import.meta.url)),
  ...args,
];
