import { consoleRoles } from "@svc/core";
import { personLogin } from "../identity-provider/person-login.ts";
import type { People } from "../people/deps.ts";
import type { Clock } from "../ports/clock.ts";
import type { Config } from "./config.ts";
import { derivedKey } from "./encryption-key.ts";

interface Surroundings extends Pick<People, "isSecure"> {
  readonly clock: Clock;
  readonly issuer: string;
  /** The secret that every process has. */
  readonly derivedFrom: Uint8Array | string;
}

/** People's sign-in. The pages are at the root of the issuer's host, as the console is. */
export function peopleOf(
  { issuer: providerIssuer, clientId, clientSecret, rolesClaim, consoleRoles: listed }: NonNullable<Config["signIn"]>,
  { clock, issuer, derivedFrom, isSecure }: Surroundings,
): People {
  return {
    login: personLogin({
      issuer: providerIssuer,
      clientId,
      clientSecret,
      callback: new URL("/sign-in/callback", issuer),
      rolesClaim: listed.length === 0 ? undefined : rolesClaim,
      clock,
    }),
    providerIssuer,
    rolesOf: (groups) =>
      consoleRoles.filter((role) => listed.some((each) => each.role === role && groups.includes(each.value))),
    attemptKey: derivedKey(derivedFrom, "svc sign-in attempt"),
    formKey: derivedKey(derivedFrom, "svc form token"),
    isSecure,
  };
}
