import { Command } from "commander";
import { commandGroup, confirm } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { type FormatFlags, formatOf, isData, type ListFlags, withFormat, withList } from "../formats.ts";
import { colors, print, printBody, printData } from "../output.ts";
import { printList, type View } from "../print-list.ts";

const examples = `
Examples:
  svc keys list
  svc keys rotate                  published now, signs in ten minutes: verifiers know it by then
  svc keys rotate --now --yes      emergency: signs at once; verifiers fetch it at its first token
  svc keys remove "$KID" --yes     every token it signed is refused at once
`;

export const command = (): Command =>
  commandGroup("keys", examples, [
    withList(withControlPlane(new Command("list")), "one line a key")
      .description("List the published keys, oldest first.")
      .action(list),
    withFormat(withControlPlane(new Command("rotate")), "{kid, activates_at}")
      .description("Publish the next key.")
      .option("--now", "sign with it at once")
      .option("--yes", "do not ask")
      .action(rotate),
    withFormat(withControlPlane(new Command("remove")), "{kid}")
      .description("Remove a key: every token it signed is refused at once.")
      .argument("<kid>")
      .option("--yes", "do not ask")
      .action(remove),
  ]);

async function list(flags: ControlPlaneFlags & ListFlags): Promise<void> {
  const plane = openControlPlane(flags);
  await printList(view, flags, () => plane.rows("admin", (svc, page) => svc.admin.issuerKeys(page)));
}

const view: View<"issuerKey"> = {
  body: "issuerKey",
  none: "No key is published.",
  nameOf: (key) => key.kid,
  columns: [
    { title: "kid", text: (key) => key.kid },
    {
      title: "status",
      text: (key) => key.status,
      paint: (key) => (key.status === "active" ? colors.green : colors.dim),
    },
    { title: "signs from", text: (key) => key.activatesAt, kind: "time" },
    { title: "superseded", text: (key) => key.supersededAt, kind: "time" },
  ],
};

type RotateFlags = ControlPlaneFlags & FormatFlags & { readonly now?: boolean; readonly yes?: boolean };

async function rotate({ now = false, yes, ...flags }: RotateFlags): Promise<void> {
  if (now) await confirm("Sign with the next key at once? Verifiers that cannot fetch it refuse calls.", yes);
  const rotated = await openControlPlane(flags).call("admin", (svc) => svc.admin.rotateKey({ now }));
  const format = formatOf(flags);
  if (isData(format)) return printBody("keyRotation", rotated, format);
  print(`${rotated.kid} signs from ${rotated.activatesAt} on`);
}

async function remove(kid: string, { yes, ...flags }: ControlPlaneFlags & FormatFlags & { yes?: boolean }) {
  await confirm(`Remove ${kid}? Every token it signed is refused at once.`, yes);
  await openControlPlane(flags).call("admin", (svc) => svc.admin.removeKey(kid));
  const format = formatOf(flags);
  if (isData(format)) await printData({ kid }, format);
  else print(`${kid} is ${colors.red("removed")}`);
}
