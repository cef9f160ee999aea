import { Command, InvalidArgumentError } from "commander";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { print, printJson, shown } from "../output.ts";

const examples = `
Examples:
  svc consent --scope expenses --user ada
  svc consent --scope expenses --user ada --ttl 900
  svc consent --scope expenses --user ada --json > session.json
                                   for SVC_PEP_SESSION_FILE; keep it secret
`;

interface Flags extends ControlPlaneFlags {
  readonly scope: string;
  readonly user: string;
  readonly ttl?: number;
}

export const command = (): Command =>
  withControlPlane(new Command("consent"))
    .requiredOption("--scope <scope>", "the scope")
    .requiredOption("--user <sub>", "the person who consents")
    .option("--ttl <seconds>", "lifetime, 60 to 86400 (default: the control plane's)", seconds)
    .option("--json", "one line: {session_id, token, scope, policy_version, hop_budget, expires_at}")
    .addHelpText("after", examples)
    .action(consent);

function seconds(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 60 || value > 86_400) throw new InvalidArgumentError("It must be 60 to 86400.");
  return value;
}

async function consent({ scope, user, ttl, json, ...flags }: Flags): Promise<void> {
  const consented = { scope, userSub: user, ttlSeconds: ttl };
  const session = await openControlPlane(flags).call("admin", (svc) => svc.consent(consented));
  if (json) {
    const { consentResponse, toWire } = await import("@svc/core");
    const { root_grant: token, ...others } = toWire(consentResponse, session);
    return printJson({ ...others, token });
  }
  print(`${shown(user)} consented to "${shown(scope)}" until ${session.expiresAt}`);
  print(`session  ${session.sessionId}`);
  print(`token    ${session.rootGrant}`);
}
