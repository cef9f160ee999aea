import { once } from "node:events";
import type { RequestListener } from "node:http";
import type { Socket } from "node:net";
import { gzipSync } from "node:zlib";
import { describe, expect, test } from "vitest";
import { createDiscover } from "../src/discovery/discover.ts";
import { answerJson, discover, http, loopback, remedyOf, serve } from "./discovery-support.ts";

describe("an http source", () => {
  test("advertises the tools and agents that it lists", async () => {
    const { url } = await serve(
      answerJson({
        tools: [
          { ref: "http:ledger/read", data_classes: ["finance"], privileged: false, access: "read", note: "theirs" },
          { ref: "http:ledger/post" },
        ],
        downstream_agents: ["auditor"],
      }),
    );
    expect(await discover(http(url))).toEqual({
      ok: true,
      tools: [
        { ref: "http:ledger/read", dataClasses: ["finance"], privileged: false, access: "read" },
        { ref: "http:ledger/post" },
      ],
      downstreamAgents: ["auditor"],
    });
  });

  test.each<[string, RequestListener, RegExp]>([
    ["answers 500", (_q, r) => r.writeHead(500).end(), /answered with an error status/],
    ["answers 401", (_q, r) => r.writeHead(401).end(), /SVC_DISCOVERY_CREDENTIALS/],
    ["answers HTML", (_q, r) => r.end("<html>"), /something else/],
    ["lists no tools", answerJson({}), /something else/],
    ["lists a ref that is none", answerJson({ tools: [{ ref: "a b" }] }), /something else/],
    ["lists text with NUL", answerJson({ tools: [{ ref: "a", data_classes: ["\u0000"] }] }), /something else/],
    ["redirects", (_q, r) => r.writeHead(302, { location: "http://127.0.0.1:1/" }).end(), /redirect/],
    ["answers too much", (_q, r) => r.end(" ".repeat(1_048_577)), /more than 1 MiB/],
    [
      "answers compressed",
      (_q, r) => r.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync("{}")),
      /compressed/,
    ],
    [
      "breaks off",
      (_q, r) => r.writeHead(200, { "content-length": 10 }).write("x", () => r.destroy()),
      /could not be reached/,
    ],
  ])("that %s counts as unavailable, with a remedy", async (_name, handler, remedy) => {
    const { url, port } = await serve(handler);
    const discovered = await discover(http(`${url}/secret-path?key=s3cr3t`));
    expect(remedyOf(discovered)).toMatch(remedy);
    expect(remedyOf(discovered)).toMatch(new RegExp(`^127.0.0.1:${port} `));
    expect(remedyOf(discovered)).not.toContain("s3cr3t");
  });

  test("that never responds times out", async () => {
    const { url } = await serve(() => {});
    expect(remedyOf(await discover(http(url), { timeoutMs: 100 }))).toMatch(/did not answer in time/);
  });

  test("that responds byte by byte times out", async () => {
    const { url } = await serve((_request, response) => {
      const drip = setInterval(() => response.write(" "), 10);
      response.on("close", () => clearInterval(drip));
    });
    expect(remedyOf(await discover(http(url), { timeoutMs: 200 }))).toMatch(/did not answer in time/);
  });

  test("without a server counts as unreachable", async () => {
    const { url, server } = await serve(() => {});
    server.close();
    expect(remedyOf(await discover(http(url)))).toMatch(/could not be reached/);
  });
});

describe("the guard", () => {
  const unguarded: string[] = [];
  const listening = () =>
    serve((request, response) => {
      unguarded.push(request.url ?? "");
      answerJson({ tools: [] })(request, response);
    });

  test.each(["127.0.0.1", "localhost", "[::ffff:127.0.0.1]", "2130706433", "0x7f.1", "127.1"])(
    "never connects to %s unless allowed, and the remedy names the setting",
    async (host) => {
      const { port } = await listening();
      const discovered = await discover(http(`http://${host}:${port}/`), { allowed: [] });
      expect(remedyOf(discovered)).toContain("SVC_DISCOVERY_ALLOW");
      expect(unguarded).toEqual([]);
    },
  );

  test("rejects a metadata address before it sends anything", async () => {
    expect(remedyOf(await discover(http("http://169.254.169.254/latest")))).toContain("SVC_DISCOVERY_ALLOW");
  });

  test("resolves a name once and connects to the address that it checked", async () => {
    const { port } = await listening();
    let requested = 0;
    const resolveHost = async () => {
      requested++;
      return [{ address: requested === 1 ? "127.0.0.1" : "169.254.169.254", family: 4 }];
    };
    expect(await discover(http(`http://rebinding.test:${port}/`), { resolveHost })).toMatchObject({ ok: true });
    expect(requested).toBe(1);
    expect(unguarded.splice(0)).toEqual(["/"]);
  });

  test("uses only the allowed addresses of a name", async () => {
    const { port } = await listening();
    const resolveHost = async () => [
      { address: "10.255.255.1", family: 4 },
      { address: "127.0.0.1", family: 4 },
    ];
    expect(await discover(http(`http://both.test:${port}/`), { resolveHost })).toMatchObject({ ok: true });
    unguarded.splice(0);
  });

  test("allows a host by its name", async () => {
    const { port } = await listening();
    const allowed = [{ kind: "host", host: "ledger.internal" }] as const;
    const resolveHost = async () => [{ address: "127.0.0.1", family: 4 }];
    expect(await discover(http(`http://ledger.internal:${port}/`), { allowed, resolveHost })).toMatchObject({
      ok: true,
    });
    unguarded.splice(0);
  });

  test("closes every connection when the discovery ends", async () => {
    const sockets = new Set<Socket>();
    const { url, server } = await listening();
    server.on("connection", (socket) => sockets.add(socket));
    await discover(http(url));
    await Promise.all([...sockets].map((socket) => socket.closed || once(socket, "close")));
    expect(sockets.size).toBe(1);
    unguarded.splice(0);
  });
});

describe("an a2a source", () => {
  test("advertises the skills of its agent card", async () => {
    const requested: string[] = [];
    const { url } = await serve((request, response) => {
      requested.push(request.url ?? "");
      answerJson({ name: "calls itself so", skills: [{ id: "summarize" }, { id: "not a ref" }] })(request, response);
    });
    const discovered = await discover({ kind: "a2a", name: "writer", url: `${url}/agents/writer/` });
    expect(discovered).toEqual({
      ok: true,
      tools: [{ ref: "a2a:writer/summarize" }, { ref: "a2a:writer/not a ref" }],
    });
    expect(requested).toEqual(["/agents/writer/.well-known/agent-card.json"]);
  });
});

test("a source gets the credential of its own origin, and no other", async () => {
  const received: (string | undefined)[] = [];
  const { url, port } = await serve((request, response) => {
    received.push(request.headers.authorization);
    answerJson({ tools: [] })(request, response);
  });
  await discover(http(url), {
    credentials: new Map([
      [url, "Bearer of-this"],
      ["http://other.test", "Bearer other"],
    ]),
  });
  await discover(http(url), { credentials: new Map([[`http://localhost:${port}`, "Bearer of-that"]]) });
  expect(received).toEqual(["Bearer of-this", undefined]);
});

test("a source that fails does not affect the others", async () => {
  const { url } = await serve(answerJson({ tools: [{ ref: "http:a" }] }));
  const answers = await createDiscover({ allowed: loopback, timeoutMs: 1_000 })([
    http(url),
    http("http://169.254.169.254/"),
  ]);
  expect(answers.map(({ discovered }) => discovered.ok)).toEqual([true, false]);
});

test("a manifest without sources has no results", async () => {
  expect(await createDiscover({ allowed: [] })([])).toEqual([]);
});
