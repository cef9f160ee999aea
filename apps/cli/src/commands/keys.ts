import type { IssuerKey } from "@svc/client";
import { Command } from "commander";
import { commandGroup, confirm } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { colors, print, printBodies, printJson, table } from "../output.ts";

const examples = `
Examples:
  svc keys list
  svc keys rotate                  published now, signs in ten minutes: verifiers know it by then
  svc keys rotate --now --yes      emergency: signs at once; verifiers fetch it at its first token
  svc keys remove "$KID" --yes     every token it signed is refused at once
`;

export const command = (): Command =>
  commandGroup("keys", examples, [
    withControlPlane(new Command("list"))
      .description("List the published keys, oldest first.")
      .option("--json", "one line of JSON a key")
      .action(list),
    withControlPlane(new Command("rotate"))
      .description("Publish the next key.")
      .option("--now", "sign with it at once")
      .option("--yes", "do not ask")
      .option("--json", "one line of JSON: {kid, activates_at}")
      .action(rotate),
    withControlPlane(new Command("remove"))
      .description("Remove a key: every token it signed is refused at once.")
      .argument("<kid>")
      .option("--yes", "do not ask")
      .option("--json", "one line of JSON: {kid}")
      .action(remove),
  ]);

async function list({ json, ...flags }: ControlPlaneFlags): Promise<void> {
  const keys = await openControlPlane(flags).all("admin", (svc, page) => svc.admin.issuerKeys(page));
  if (json) return printBodies("issuerKey", keys);
  const cells = (key: IssuerKey) => [
    key.kid,
    key.status === "active" ? colors.green(key.status) : key.status,
    key.activatesAt ?? "from the settings",
    key.supersededAt ?? "",
  ];
  print(table(["kid", "status", "signs from", "until"], keys.map(cells)));
}

type RotateFlags = ControlPlaneFlags & { readonly now?: boolean; readonly yes?: boolean };

async function rotate({ now = false, yes, json, ...flags }: RotateFlags): Promise<void> {
  if (now) await confirm("Sign with the next key at once? Verifiers that cannot fetch it refuse calls.", yes);
  const rotated = await openControlPlane(flags).call("admin", (svc) => svc.admin.rotateKey({ now }));
  if (json) return printBodies("keyRotation", [rotated]);
  print(`${rotated.kid} signs from ${rotated.activatesAt} on`);
}

async function remove(kid: string, { yes, json, ...flags }: ControlPlaneFlags & { yes?: boolean }) {
  await confirm(`Remove ${kid}? Every token it signed is refused at once.`, yes);
  await openControlPlane(flags).call("admin", (svc) => svc.admin.removeKey(kid));
  if (json) printJson({ kid });
  else print(`${kid} is ${colors.red("removed")}`);
}
