import { writeFileSync } from "node:fs";
import { networkInterfaces } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [{ methods: ["GET", "POST", "OPTIONS"], path: "/read", target: "http:app/read", data_class: "docs" }];

/** An ambient session serves every process that reaches the port. */
async function setup(mode: "enforce" | "observe" = "enforce", listen = "127.0.0.1:0") {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [{ name: "app", url: upstream.url, hosts: ["app.internal"], mode, routes }],
    settings: (folder) => ({
      SVC_PEP_SESSION_FILE: join(folder, "session.json"),
      SVC_PEP_OBSERVE_UNDECIDED: "forward",
      SVC_PEP_LISTEN: listen,
    }),
    prepare: async (folder, controlPlane) => {
      const { sessionId, token } = await controlPlane.consent();
      writeFileSync(join(folder, "session.json"), JSON.stringify({ session_id: sessionId, token }));
    },
  });
  running.controlPlane.policies.set("http:app/read", {});
  const { port } = running;
  /** `{own}` is the listener's own port. */
  const send = async (line: string, host: string, headers: readonly string[]) => {
    const lines = [`${line} HTTP/1.1`, `Host: ${host}`, ...headers, "Connection: close", "", ""];
    const agent = await rawConnection(port, lines.join("\r\n").replaceAll("{own}", String(port)));
    return agent.closed();
  };
  return { ...running, upstream, send };
}

const own = "127.0.0.1:{own}";

describe("a page of another origin cannot use the ambient session", () => {
  test.each([
    ["a simple POST of another site", "POST /app/read", own, ["Origin: https://evil.example", "Content-Length: 0"]],
    ["a page that hides its origin", "POST /app/read", own, ["Origin: null", "Content-Length: 0"]],
    ["another port of this machine", "POST /app/read", own, ["Origin: http://127.0.0.1:1", "Content-Length: 0"]],
    ["a longer name than ours", "POST /app/read", own, ["Origin: http://127.0.0.1:{own}.evil.example"]],
    ["a user of that name", "POST /app/read", own, ["Origin: http://127.0.0.1:{own}@evil.example"]],
    ["two origins, one of them ours", "GET /app/read", own, ["Origin: http://127.0.0.1:{own}", "Origin: https://evil"]],
    ["an image or a link", "GET /app/read", own, ["Sec-Fetch-Site: cross-site", "Sec-Fetch-Mode: no-cors"]],
    [
      "a link with a name and a password",
      "GET /app/read",
      own,
      ["Sec-Fetch-Site: cross-site", "Authorization: Basic eDp5"],
    ],
    ["a preflight", "OPTIONS /app/read", own, ["Origin: https://evil.example", "Access-Control-Request-Method: PUT"]],
    ["a host of an upstream", "POST /read", "app.internal", ["Origin: https://evil.example", "Content-Length: 0"]],
    [
      "a WebSocket",
      "GET /app/read",
      own,
      [
        "Origin: https://evil.example",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        "Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==",
      ],
    ],
  ])("%s", async (_name, line, host, headers) => {
    const { send, upstream, controlPlane, metric } = await setup();
    const text = await send(line, host, headers);
    expect(text).toMatch(/^HTTP\/1\.1 403 Forbidden\r\n[\s\S]*x-svc-blocked: unauthorized\r\n[\s\S]*another origin/i);
    expect([upstream.received.length, controlPlane.decisions().length]).toEqual([0, 0]);
    expect(await metric('svc_pep_blocks_total{cause="unauthorized"}')).toBe(1);
  });

  test("in observe mode either", async () => {
    const { send, upstream } = await setup("observe");
    expect(await send("GET /app/read", own, ["Origin: https://evil.example"])).toMatch(/^HTTP\/1\.1 403 /);
    expect(upstream.received).toHaveLength(0);
  });
});

describe("a listener on every address", () => {
  const every = () => setup("enforce", "[::]:0");

  test.each(["127.0.0.1", "[::1]", "localhost"])("has pages at http://%s", async (name) => {
    const { send } = await every();
    expect(await send("GET /app/read", own, [`Origin: http://${name}:{own}`])).toMatch(/^HTTP\/1\.1 200 /);
  });

  test.each(["127.0.0.2", "[::2]", "localhost.evil.example"])("has none at http://%s", async (name) => {
    const { send } = await every();
    expect(await send("GET /app/read", own, [`Origin: http://${name}:{own}`])).toMatch(/^HTTP\/1\.1 403 /);
  });

  const machine = Object.values(networkInterfaces())
    .flatMap((addresses) => addresses ?? [])
    .find(({ family, internal }) => family === "IPv4" && !internal)?.address;
  test.skipIf(machine === undefined)(
    "has none at the loopback of another machine (needs a network address)",
    async () => {
      const { port } = await every();
      const headers = { Origin: `http://127.0.0.1:${port}` };
      const response = await fetch(`http://${machine}:${port}/app/read`, { headers });
      expect(response.status).toBe(403);
    },
  );
});

describe("any other request is served", () => {
  test.each([
    ["of a program", "GET /app/read", own, []],
    [
      "of a page of this listener",
      "GET /app/read",
      own,
      ["Origin: http://127.0.0.1:{own}", "Sec-Fetch-Site: same-origin"],
    ],
    ["of this listener by name", "GET /app/read", own, ["Origin: http://LOCALHOST:{own}"]],
    ["of a page of the host that is called", "GET /read", "app.internal", ["Origin: http://app.internal"]],
    ["of the address bar", "GET /app/read", own, ["Sec-Fetch-Site: none"]],
  ])("%s", async (_name, line, host, headers) => {
    const { send } = await setup();
    expect(await send(line, host, headers)).toMatch(/^HTTP\/1\.1 200 /);
  });

  test("of another page that presents a bearer", async () => {
    const { send, session } = await setup();
    const { authorization } = await session();
    const headers = ["Origin: https://app.example", "Sec-Fetch-Site: cross-site", `Authorization: ${authorization}`];
    expect(await send("GET /app/read", own, headers)).toMatch(/^HTTP\/1\.1 200 /);
  });
});
