export type {
  Act,
  ActState,
  Again,
  AskedAct,
  Committed,
  ConsoleActs,
  Done,
  UpTo,
} from "./acts/act.ts";
export { createConsole } from "./console.ts";
export { type AskedScope, type ConsentAsk, consentView } from "./people/consent-view.ts";
export { type Person, type PersonView, personLayout } from "./people/layout.ts";
export { type AllowedSession, meView } from "./people/me-view.ts";
export { messageView } from "./people/message-view.ts";
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
