import type { ControlPlane } from "./control-plane.ts";
import { Fault } from "./fault.ts";

/** So many of the newest are looked through for the end of an id. */
const searched = 2_000;

const uuid = /^[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$/i;
/** Fewer characters could be the end of an older id too. */
const suffix = /^[0-9a-f-]{8,35}$/i;

/** The id that ends so, among the newest; any other text is returned as it is. @throws {Fault} where none or several do */
async function wholeId(text: string, what: string, ids: () => AsyncIterable<string>): Promise<string> {
  if (uuid.test(text) || !suffix.test(text)) return text;
  const found: string[] = [];
  let count = 0;
  for await (const id of ids()) {
    if (id.endsWith(text.toLowerCase())) found.push(id);
    count += 1;
    if (count === searched) break;
  }
  const [only, ...others] = found;
  if (only === undefined) {
    throw new Fault(`no ${what} of the newest ${searched} ends in ${text}`, "Give the whole id: -o wide prints it.");
  }
  if (others.length > 0) throw new Fault(`several ${what}s end in ${text}: ${found.join(", ")}`, "Give the whole id.");
  return only;
}

export const wholeSessionId = (plane: ControlPlane, text: string): Promise<string> =>
  wholeId(text, "session", async function* () {
    for await (const row of plane.rows("audit", (svc, page) => svc.audit.sessions(page))) yield row.sessionId;
  });

export const wholeSignInId = (plane: ControlPlane, text: string): Promise<string> =>
  wholeId(text, "sign-in", async function* () {
    for await (const row of plane.rows("audit", (svc, page) => svc.audit.signIns(page))) yield row.signInId;
  });

export const wholeActionId = (plane: ControlPlane, text: string): Promise<string> =>
  wholeId(text, "decision", async function* () {
    for await (const row of plane.rows("audit", (svc, page) => svc.audit.decisions(page))) yield row.actionId;
  });
