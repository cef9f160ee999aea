import type { ConsoleRole } from "@svc/core";
import type { CommandDeps } from "../commands/deps.ts";
import type { Events } from "../events/events.ts";
import type { RoutesDeps } from "../http/routes.ts";
import type { PersonLogin } from "../ports/person-login.ts";
import type { SignIns } from "../ports/sign-ins.ts";

/** Settings and means of people's sign-in. */
export interface People {
  readonly login: PersonLogin;
  /** As configured. */
  readonly providerIssuer: URL;
  /** Of values of the claim that gives roles, as the settings are now. */
  readonly rolesOf: (groups: readonly string[]) => readonly ConsoleRole[];
  /** Seals attempts; the same in every process. */
  readonly attemptKey: Uint8Array;
  /** Of the tokens in forms; the same in every process. */
  readonly formKey: Uint8Array;
  /** False only where browsers reach the pages without TLS: on loopback or in development. */
  readonly isSecure: boolean;
}

/** Everything that the pages for people use. */
export interface PeopleDeps extends CommandDeps, RoutesDeps {
  readonly events: Events;
  /** Of the running build. */
  readonly version: string;
  readonly signIns: SignIns;
  /** Undefined where no client of an OpenID provider is configured: then these pages do not exist. */
  readonly people: People | undefined;
}
