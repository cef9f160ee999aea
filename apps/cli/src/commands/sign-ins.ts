import { Command } from "commander";
import { commandGroup, confirm, type Revocation } from "../command-group.ts";
import { type ControlPlaneFlags, openControlPlane, withControlPlane } from "../control-plane.ts";
import { notTried } from "../fault.ts";
import { type FormatFlags, formatOf, isData, type ListFlags, withFormat, withList } from "../formats.ts";
import { colors, print, printBody, printData } from "../output.ts";
import { printList, type View } from "../print-list.ts";
import { wholeSignInId } from "../whole-id.ts";

const examples = `
Examples:
  svc sign-ins list --user ada
  svc sign-ins end --user ada --reason "the laptop was lost" --yes
`;

interface Person {
  readonly user?: string;
}

const ofPerson = (command: Command): Command => command.option("--user <sub>", "of one person");

export const command = (): Command =>
  commandGroup("sign-ins", examples, [
    withList(ofPerson(withControlPlane(new Command("list"))), "one line a sign-in", 50)
      .description("List people's sign-ins of the last day, newest first.")
      .action(list),
    withFormat(ofPerson(withControlPlane(new Command("end"))), "the sign-in, or {ended}")
      .description("End one sign-in, or all of a person, at once.")
      .argument("[sign_in_id]", "or the end of it")
      .option("--reason <text>", "kept in the record")
      .option("--yes", "do not ask")
      .action(end),
  ]);

async function list(flags: ControlPlaneFlags & Person & ListFlags): Promise<void> {
  const { user: userSub } = flags;
  const plane = openControlPlane(flags);
  await printList(view, flags, () => plane.rows("audit", (svc, page) => svc.audit.signIns({ userSub, ...page })));
}

const statusColors = { active: colors.green, expired: colors.dim, ended: colors.red };

const view: View<"signInRead"> = {
  body: "signInRead",
  none: "No sign-in of the last day matches.",
  nameOf: (row) => row.signInId,
  columns: [
    { title: "sign-in", text: (row) => row.signInId, kind: "id" },
    { title: "age", text: (row) => row.begunAt, kind: "time" },
    { title: "status", text: (row) => row.status, paint: (row) => statusColors[row.status] },
    { title: "user", text: (row) => row.userSub },
    { title: "name", text: (row) => row.name },
    { title: "roles", text: (row) => row.roles.join(" ") },
    { title: "expires", text: (row) => row.expiresAt, kind: "time", isWide: true },
    { title: "issuer", text: (row) => row.issuer, isWide: true },
    { title: "ended by", text: (row) => row.endedBy, isWide: true },
  ],
};

async function end(id: string | undefined, flags: ControlPlaneFlags & Person & Revocation & FormatFlags) {
  const { user: userSub, reason, yes } = flags;
  if ((userSub === undefined) === (id === undefined)) {
    throw notTried("name either a sign-in or a person", "Name a sign-in's id, or --user.");
  }
  const plane = openControlPlane(flags);
  const format = formatOf(flags);
  if (id !== undefined) {
    const signInId = await wholeSignInId(plane, id);
    const signIn = await plane.call("admin", (svc) => svc.admin.endSignIn(signInId, { reason }));
    if (isData(format)) return printBody("signInRead", signIn, format);
    return print(`${signIn.signInId} is ${statusColors[signIn.status](signIn.status)}`);
  }
  if (userSub === undefined) return;
  await confirm(`End every sign-in of ${userSub}?`, yes);
  const ended = await plane.call("admin", (svc) => svc.admin.endSignIns({ userSub, reason }));
  if (isData(format)) await printData({ ended }, format);
  else print(`${ended} ended`);
}
