import { once } from "node:events";
import { rmSync, writeFileSync } from "node:fs";
import { request as httpRequest } from "node:http";
import { join } from "node:path";
import { waitUntil } from "@svc/test-support";
import { expect, test } from "vitest";
import { mount } from "./support/kubelet.ts";
import { startedPep } from "./support/pep.ts";
import { callOf, initializing, scripted } from "./support/stdio-bridge.ts";
import { startedUpstream } from "./support/upstream.ts";

const route = (path: string) => ({ methods: ["GET"], path, target: "http:app/read", data_class: "docs" });

async function setup(prepare?: (folder: string) => void) {
  const first = await startedUpstream((_request, response) => response.end("first"));
  const second = await startedUpstream((_request, response) => response.end("second"));
  const upstream = (url: string, path = "/a") => ({ name: "app", url, routes: [route(path)] });
  const running = await startedPep({ upstreams: [upstream(first.url)], ...(prepare && { prepare }) });
  running.controlPlane.policies.set("http:app/read", {});
  const headers = await running.session();
  const call = async (path = "/a") => (await fetch(`${running.url}/app${path}`, { headers })).text();
  const write = (upstreams: unknown, file = running.configFile) => writeFileSync(file, JSON.stringify({ upstreams }));
  return { ...running, first, second, upstream, headers, call, write };
}

test("a changed file is applied by itself", async () => {
  const { call, write, second, upstream } = await setup();
  expect(await call()).toBe("first");
  write([upstream(second.url)]);
  await waitUntil("the new upstream", async () => (await call()) === "second");
});

test("SIGHUP applies a changed file at once", async () => {
  const { call, write, second, upstream, pep } = await setup();
  write([upstream(second.url)]);
  pep.reload();
  expect(await call()).toBe("second");
});

test("an invalid file keeps the previous configuration, and the log names its faults", async () => {
  const { call, write, logs, reported, metrics } = await setup();
  write([{ name: "app", url: "nowhere", mode: "off" }]);
  await waitUntil("the faults", () => reported.length >= 2);
  expect(reported.map((line) => line.split(": ").at(1))).toEqual(
    expect.arrayContaining(["upstreams.0.url", "upstreams.0.mode"]),
  );
  expect(logs).toContainEqual(
    expect.objectContaining({ level: "warn", msg: "configuration refused; the previous one stays" }),
  );
  expect(await call()).toBe("first");
  expect(await metrics()).toMatch(/^svc_pep_up 1$/m);
});

test("a missing file keeps the previous configuration", async () => {
  const { call, configFile, reported } = await setup();
  rmSync(configFile);
  await waitUntil("the fault", () => reported.some((line) => line.includes("cannot be read")));
  expect(await call()).toBe("first");
});

test("a change of mode is shown by the gauge", async () => {
  const { write, first, upstream, pep, metrics } = await setup();
  expect(await metrics()).toMatch(/^svc_pep_info\{mode="enforcing",version="0.0.0-test"\} 1$/m);
  write([{ ...upstream(first.url), mode: "observe" }]);
  pep.reload();
  expect(await metrics()).toMatch(/^svc_pep_info\{mode="observing",version="0.0.0-test"\} 1$/m);
  expect(await metrics()).not.toMatch(/^svc_pep_info\{mode="enforcing",version="0.0.0-test"\} 1$/m);
});

test("a call in flight keeps its configuration, and then the old connections close", async () => {
  const slow = await startedUpstream((_request, response) => {
    response.write("half,");
    setTimeout(() => response.end("whole"), 300);
  });
  const { url, headers, write, second, upstream, pep, call } = await setup();
  write([upstream(slow.url)]);
  pep.reload();
  const request = httpRequest(`${url}/app/a`, { headers }).end();
  const [response] = await once(request, "response");
  write([upstream(second.url)]);
  pep.reload();
  expect(await call()).toBe("second");
  let text = "";
  for await (const chunk of response.setEncoding("utf8")) text += chunk;
  expect(text).toBe("half,whole");
  await waitUntil("the old connections to close", () => slow.sockets.size === 0);
});

test("a secret of an upstream's own is read again when its file changes", async () => {
  const { call, write, first, upstream, pep, folder } = await setup((folder) =>
    writeFileSync(join(folder, "secret"), "one\n"),
  );
  write([{ ...upstream(first.url), credential: { header: "x-key", value_file: join(folder, "secret") } }]);
  pep.reload();
  await call();
  expect(first.received.at(-1)?.headers["x-key"]).toBe("one");
  expect(first.received.at(-1)?.headers.authorization).toBeUndefined();
  writeFileSync(join(folder, "secret"), "two\n");
  await waitUntil("the new secret", async () => {
    await call();
    return first.received.at(-1)?.headers["x-key"] === "two";
  });
});

test("the processes of an unchanged server over stdio outlive a change of the file, and those of a changed one end", async () => {
  const { write, url, session, pep, controlPlane } = await setup();
  controlPlane.policies.set("mcp:notes", {});
  controlPlane.policies.set("mcp:notes/count", {});
  const notes = { name: "notes", protocol: "mcp", command: scripted(), data_class: "docs" };
  write([notes]);
  pep.reload();
  const credentials = await session();
  const post = (body: string, more: Record<string, string> = {}) =>
    fetch(`${url}/notes`, {
      method: "POST",
      headers: { ...credentials, "content-type": "application/json", ...more },
      body,
    });
  const headers = { "mcp-session-id": (await post(initializing)).headers.get("mcp-session-id") ?? "" };
  const count = async () => {
    const response = await post(callOf(1, "count"), headers);
    return response.status === 200
      ? ((await response.json()) as { result: { calls: number } }).result.calls
      : response.status;
  };
  expect(await count()).toBe(1);
  write([
    { ...notes, mode: "observe" },
    { ...notes, name: "more" },
  ]);
  pep.reload();
  expect(await count()).toBe(2);
  write([{ ...notes, env: { CHANGED: "1" } }]);
  pep.reload();
  // So the client initializes anew (MCP 2025-11-25: Session Management).
  expect(await count()).toBe(404);
});

test("a ConfigMap, which is replaced by a link higher in its path, is applied", async () => {
  const first = await startedUpstream((_request, response) => response.end("first"));
  const second = await startedUpstream((_request, response) => response.end("second"));
  const holding = (url: string) => ({
    "pep.yaml": JSON.stringify({ upstreams: [{ name: "app", url, routes: [route("/a")] }] }),
  });
  let replace = (_files: ReturnType<typeof holding>) => {};
  const { url, session, controlPlane } = await startedPep({
    upstreams: [],
    settings: (folder) => ({ SVC_PEP_CONFIG: join(folder, "mounted", "pep.yaml") }),
    prepare(folder) {
      replace = mount(join(folder, "mounted"), holding(first.url));
    },
  });
  controlPlane.policies.set("http:app/read", {});
  const headers = await session();
  const call = async () => (await fetch(`${url}/app/a`, { headers })).text();
  expect(await call()).toBe("first");
  replace(holding(second.url));
  await waitUntil("the new upstream", async () => (await call()) === "second");
});
