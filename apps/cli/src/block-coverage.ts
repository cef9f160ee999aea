import type { BlockKind } from "@svc/core";
import type { ControlPlane } from "./control-plane.ts";
import { nearestOf } from "./manifest/differences.ts";
import { scopeNames } from "./scope-names.ts";

/** Of a block that covers nothing at present: a sentence that says so. A name may be blocked before it is declared. */
export async function uncovered(plane: ControlPlane, kind: BlockKind, ref: string): Promise<string | undefined> {
  const names = await namesOf[kind](plane);
  if (names.some((name) => name === ref || (kind === "tool" && isOfServer(name, ref)))) return undefined;
  const meant = (await nearestOf(names))(ref);
  return `no ${kind} ${ref} is declared at present${meant === undefined ? "" : `; did you mean ${meant}?`}`;
}

/** A block on `mcp:files` covers `mcp:files/read` and `mcp:files#resources/read`. */
const isOfServer = (name: string, server: string): boolean =>
  server.startsWith("mcp:") && (name.startsWith(`${server}/`) || name.startsWith(`${server}#`));

const namesOf: Readonly<Record<BlockKind, (plane: ControlPlane) => Promise<readonly string[]>>> = {
  agent: async (plane) => (await plane.all("admin", (svc, page) => svc.admin.agents(page))).map(({ name }) => name),
  scope: scopeNames,
  async tool(plane) {
    const refs: string[] = [];
    for (const scope of await scopeNames(plane)) {
      const { tools } = await plane.call("admin", (svc) => svc.admin.scopeCatalog(scope));
      refs.push(...tools.flatMap(({ ref }) => [ref, ...(/^mcp:[^/#]+/.exec(ref) ?? [])]));
    }
    return [...new Set(refs)];
  },
};
