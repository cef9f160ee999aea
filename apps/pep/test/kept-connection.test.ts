import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import { describe, expect, onTestFinished, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { type RawConnection, rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance" },
  { methods: ["POST"], path: "/write", target: "http:ledger/write", data_class: "finance" },
];

async function setup() {
  const upstream = await startedUpstream();
  const running = await startedPep({ upstreams: [{ name: "ledger", url: upstream.url, routes }] });
  for (const operation of ["read", "write"]) running.controlPlane.policies.set(`http:ledger/${operation}`, {});
  const { authorization, "x-svc-session": session } = await running.session();
  const warnings: Error[] = [];
  const note = (warning: Error) => void warnings.push(warning);
  process.on("warning", note);
  onTestFinished(() => void process.off("warning", note));
  const head = (line: string, ...headers: readonly string[]) =>
    [`${line} HTTP/1.1`, `Host: 127.0.0.1:${running.port}`, ...headers, "", ""].join("\r\n");
  const bearer = [`Authorization: ${authorization}`, `X-Svc-Session: ${session}`];
  return { port: running.port, head, bearer, warnings };
}

/** Head and body of a request, and the status of its answer. */
type Exchange = readonly [head: string, body: string, status: number];

describe("requests on one connection leave nothing behind on it", () => {
  const kinds: [string, (made: Awaited<ReturnType<typeof setup>>) => Exchange][] = [
    ["that are forwarded", ({ head, bearer }) => [head("GET /ledger/read", ...bearer), "", 200]],
    ["with a body", ({ head, bearer }) => [head("POST /ledger/write", ...bearer, "Content-Length: 1"), "1", 200]],
    [
      "that no route lists",
      ({ head, bearer }) => [head("POST /ledger/none", ...bearer, "Content-Length: 1"), "1", 404],
    ],
    ["without a bearer", ({ head }) => [head("POST /ledger/write", "Content-Length: 1"), "1", 401]],
    ["of its own endpoints", ({ head }) => [head("POST /__svc/livez", "Content-Length: 1"), "1", 405]],
  ];

  test.each(kinds)("50 %s, each body after its answer where that comes first", async (_kind, requestOf) => {
    const made = await setup();
    const [head, body, status] = requestOf(made);
    const agent = await rawConnection(made.port);
    for (let count = 1; count <= 50; count += 1) {
      agent.socket.write(head);
      await Promise.race([answered(agent, status, count), delay(20)]);
      agent.socket.write(body);
      await answered(agent, status, count);
    }
    expect(made.warnings).toEqual([]);
  });

  test.each(kinds)("20 %s, pipelined", async (_kind, requestOf) => {
    const made = await setup();
    const [head, body, status] = requestOf(made);
    const agent = await rawConnection(made.port, (head + body).repeat(20));
    await answered(agent, status, 20);
    expect(made.warnings).toEqual([]);
  });
});

/** Resolves once so many answers have come. */
async function answered({ text, socket }: RawConnection, status: number, count: number): Promise<void> {
  while (text().split(`HTTP/1.1 ${status} `).length <= count) await once(socket, "data");
}
