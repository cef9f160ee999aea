export { createConsole } from "./console.ts";
export type { ConsolePorts, ConsoleReads, Listed, Query, Refusal, SignInSettings, Viewer } from "./ports.ts";
