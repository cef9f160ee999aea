import { randomBytes } from "node:crypto";
import { type Environment, everySettingName, optional, readSettings, text } from "@svc/host";
import { StartError } from "../start-error.ts";

const bearer = (plane: string) => optional(text, `Bearers of the ${plane} plane.`, { secret: true });

const settings = {
  SVC_ADMIN_TOKEN: bearer("admin"),
  SVC_AUDIT_TOKEN: bearer("audit"),
  SVC_IDENTITY_TOKEN: bearer("identity"),
  SVC_ENFORCEMENT_TOKEN: bearer("enforcement"),
};

/** The first bearer of each plane that the environment sets; new ones where it sets none. */
export function bearersOf(environment: Environment) {
  const read = readSettings(settings, environment, { knownElsewhere: everySettingName });
  if (!read.ok) throw new StartError(read.faults.join("\n"), "Correct these environment variables, or unset them.");
  const { SVC_ADMIN_TOKEN, SVC_AUDIT_TOKEN, SVC_IDENTITY_TOKEN, SVC_ENFORCEMENT_TOKEN } = read.values;
  return {
    admin: firstOf(SVC_ADMIN_TOKEN),
    audit: firstOf(SVC_AUDIT_TOKEN),
    identity: firstOf(SVC_IDENTITY_TOKEN),
    enforcement: firstOf(SVC_ENFORCEMENT_TOKEN),
  };
}

/** Of `token,token` or `label=token`; a token may end with `=` itself. */
const firstOf = (list: string | undefined): string =>
  list
    ?.split(",")[0]
    ?.trim()
    .replace(/^[^=]*=(?=[^=])/, "") ?? randomBytes(24).toString("base64url");
