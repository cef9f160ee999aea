import { openStand } from "@svc/test-conformance/stand";
import { afterAll, describe, expect, test } from "vitest";
import { connectFirst, connectSecond } from "./src/mcp/eras/clients.ts";
import { offered, startFirst, startOverStdio, startSecond } from "./src/mcp/eras/servers.ts";
import { steps, type Walk, walk } from "./src/mcp/eras/walk.ts";

const servers = {
  "SDK 1 in event streams": await startFirst(),
  "SDK 1 in JSON": await startFirst({ json: true }),
  "SDK 2": await startSecond("stateless"),
  "SDK 2 of 2026-07-28 alone": await startSecond("reject"),
  "SDK 1 over stdio": startOverStdio("first"),
  "SDK 2 over stdio": startOverStdio("second"),
};
const clients = {
  "SDK 1": connectFirst,
  "SDK 2 pinned to 2026-07-28": connectSecond({ pin: "2026-07-28" }),
  "SDK 2 in automatic mode": connectSecond("auto"),
  "SDK 2 for earlier revisions": connectSecond("legacy"),
};
const modern = "2026-07-28";
const earlier = "2025-11-25";
const none = undefined;
/** Client by client, server by server as above. */
const revisions = [
  [earlier, earlier, earlier, none, earlier, earlier],
  [none, none, modern, modern, none, modern],
  [earlier, earlier, modern, modern, earlier, modern],
  [earlier, earlier, earlier, none, earlier, earlier],
];

const names = Object.keys(servers).map((_, at) => `server${at}`);
const dataClass = "docs";
const methods = Object.fromEntries(offered.methods.map((method) => [`#${method}`, dataClass]));
const declared = [...offered.tools.filter((name) => name !== "guarded"), "absent"];
const stand = await openStand({
  scopes: {
    work: {
      hop_budget: 2,
      tools: names.flatMap((name) =>
        [...declared.map((tool) => `/${tool}`), ...Object.keys(methods)].map((suffix) => ({
          ref: `mcp:${name}${suffix}`,
          data_classes: [dataClass],
        })),
      ),
    },
  },
  upstreams: () =>
    Object.values(servers).map(({ at }, index) => ({
      name: `server${index}`,
      ...at,
      protocol: "mcp",
      data_class: dataClass,
      tools: methods,
    })),
});
afterAll(async () => {
  await stand.stop();
  await Promise.all(Object.values(servers).map((server) => server.stop()));
});
const { session, token } = await stand.api.consent("work");
const headers = { authorization: `Bearer ${token}`, "x-svc-session": session };

// Run once both ways during collection: each test compares one step.
interface Pair {
  readonly revision: string | undefined;
  readonly straight: Walk;
  readonly through: Walk;
}
const pairs: [name: string, Pair][] = [];
for (const [row, [client, connect]] of Object.entries(clients).entries()) {
  for (const [column, [name, server]] of Object.entries(servers).entries()) {
    const pair = {
      revision: revisions[row]?.[column],
      straight: await walk(connect, server.at, {}, server),
      through: await walk(connect, { url: `${stand.enforcementPoint.url}/server${column}` }, headers, server),
    };
    pairs.push([`a client of ${client} and a server of ${name}`, pair]);
  }
}
const connected = pairs.filter(([, { revision }]) => revision !== none);
const apart = pairs.filter(([, { revision }]) => revision === none);

describe.each(connected)(
  "%s get the same through the enforcement point as directly:",
  (_name, { revision, straight, through }) => {
    test("their revision", () => {
      expect([straight.revision, through.revision]).toEqual([revision, revision]);
    });

    test.each(Object.keys(steps))("%s", (step) => {
      expect(through.outcomes[step]).toEqual(straight.outcomes[step]);
    });

    test("but for the tool that the agent may not call", () => {
      expect(straight.guarded).toMatchObject({ content: [{ text: "reached" }] });
      const failed = { code: -32010, message: expect.stringContaining("is denied") };
      expect(through.guarded).toMatchObject({ failed });
    });
  },
);

test.each(apart)("%s, which share no revision, fail with the same error", (_name, { straight, through }) => {
  const failedOf = ({ outcomes: { connect } }: Walk) => (connect as { failed: { name: string; code: unknown } }).failed;
  const { name, code } = failedOf(straight);
  expect(failedOf(through)).toMatchObject({ name, code });
});
