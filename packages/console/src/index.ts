export { createConsole } from "./console.ts";
export { type SignInNotice, signInNotice } from "./people/sign-in-notice.ts";
export type {
  ConsolePeople,
  ConsolePorts,
  ConsoleReads,
  Listed,
  Query,
  Refusal,
  SignInSettings,
  Viewer,
} from "./ports.ts";
