import { AuthzClient, hopContext } from "@svc/client";
import { openStand } from "@svc/test-conformance/stand";
import { type Child, freePort, testBearers, waitUntil } from "@svc/test-support";
import { expect } from "vitest";
import { startRecipe } from "./recipes.ts";

const dataClass = "finance.entries";
const refs = ["http:ledger/read_entry", "http:ledger/other_entry"] as const;
const note = { target: "mcp:notes/read_note", targetKind: "tool", dataClass: "docs" } as const;

/** How a recipe is started, with its environment. */
export type Start = (env: Readonly<Record<string, string>>) => Promise<Child>;

/** A control plane, and three decided calls for the servers of the page. */
export async function openServersStand() {
  const stand = await openStand({
    scopes: {
      work: {
        hop_budget: 2,
        tools: [
          ...refs.map((ref) => ({ ref, data_classes: [dataClass] })),
          { ref: note.target, data_classes: [note.dataClass] },
        ],
      },
    },
    upstreams: () => [],
  });
  const svc = new AuthzClient({ baseUrl: stand.api.url });
  const { session, token } = await stand.api.consent("work");
  const context = hopContext(session, token);
  const calls = refs.map((target) => ({ target, targetKind: "tool", dataClass }) as const);
  const granted = await Promise.all([...calls, note].map((call) => svc.authorize(context, call)));
  const [right = {}, other = {}, read = {}] = granted.map((grant) => grant.headers());

  /** Starts a server of the page, and passes its address on once it listens. */
  async function started(start: Start, use: (origin: string) => Promise<void>): Promise<void> {
    const port = String(await freePort());
    const server = await start({
      ...{ SVC_CONTROL_PLANE_URL: stand.api.url, SVC_IDENTITY_TOKEN: testBearers.identity, PORT: port },
    });
    const origin = `http://127.0.0.1:${port}`;
    const isUp = () =>
      fetch(origin, { redirect: "manual" }).then(
        () => true,
        () => server.hasExited(),
      );
    try {
      await waitUntil("the server to listen", isUp);
      expect(server.hasExited(), server.output()).toBe(false);
      await use(origin);
    } finally {
      await server.stop();
    }
  }

  return {
    /** Headers of calls of `http:ledger/read_entry`, of another target, and of `mcp:notes/read_note`. */
    ...{ right, other, read, started },
    /** The server admits the one call that was decided for it. */
    admitsOneCall: (start: Start): Promise<void> =>
      started(start, async (origin) => {
        const call = (headers: Record<string, string> = {}) =>
          fetch(`${origin}/entries/7`, { headers, redirect: "manual" });
        expect((await call()).status).toBe(401);
        expect((await call(other)).status).toBe(401);
        expect((await call({ ...right, "x-svc-session": "another" })).status).toBe(401);
        const admitted = await call(right);
        expect([admitted.status, await admitted.json()]).toEqual([200, { id: "7", caller: expect.any(String) }]);
      }),
    async stop() {
      await svc.close();
      await stand.stop();
    },
  };
}

/** A recipe of the page as it is. */
export const asPrinted =
  (name: string): Start =>
  (env) =>
    startRecipe("servers.md", name, env);
