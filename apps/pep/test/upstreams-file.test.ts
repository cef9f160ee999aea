import { describe, expect, test } from "vitest";
import type { PepMode } from "../src/modes.ts";
import { readUpstreams } from "../src/upstreams/upstreams-file.ts";
import { files, ledger } from "./support/upstreams.ts";

const contents: Record<string, string> = {
  "/ca.pem": "CA",
  "/cert.pem": "CERT",
  "/key.pem": "KEY",
  "/secret": "s3cret\n",
  "/two-lines": "a\nb",
};
const readFile = (path: string) => {
  const text = contents[path];
  if (text === undefined) throw new Error(`no ${path}`);
  return text;
};
const read = (text: string, defaultMode: PepMode = "enforce") => readUpstreams(text, { defaultMode, readFile });
const faults = (upstreams: unknown, defaultMode?: PepMode) => {
  const result = read(JSON.stringify({ upstreams }), defaultMode);
  return result.ok ? [] : result.faults;
};

test("the example of the reference is valid, in YAML", () => {
  const result = read(`
upstreams:
  - name: ledger
    url: https://ledger.internal:8443
    hosts: [ledger.internal]
    protocol: http
    mode: observe
    tls: {ca_file: /ca.pem, cert_file: /cert.pem, key_file: /key.pem}
    credential: hop_token
    routes:
      - {methods: [GET], path: /entries/:id, target: http:ledger/read_entry, data_class: finance.entries}
      - {methods: [POST], path: /entries, target: http:ledger/post_entry, data_class: finance.entries}
  - name: files
    url: http://127.0.0.1:9300/mcp
    protocol: mcp
    data_class: docs
    tools: {write_file: docs.drafts, "#resources/read": docs}
    filter_tool_lists: true
  - name: keyed
    url: http://keyed.internal
    credential: {header: X-Api-Key, value_file: /secret}
`);
  expect(result).toMatchObject({ ok: true, files: ["/ca.pem", "/cert.pem", "/key.pem", "/secret"] });
  if (!result.ok) return;
  expect(result.upstreams.byName.get("ledger")).toMatchObject({
    mode: "observe",
    tls: { ca: "CA", cert: "CERT", key: "KEY" },
  });
  expect(result.upstreams.byName.get("files")).toMatchObject({
    mode: "enforce",
    protocol: { basePath: "/mcp", takesUpgrades: false },
  });
  expect(result.upstreams.byName.get("keyed")).toMatchObject({
    protocol: { takesUpgrades: true },
    credential: { kind: "header", name: "x-api-key", value: "s3cret" },
  });
});

const spawned = { name: "spawned", protocol: "mcp", command: ["npx", "-y", "some-server"] };

test("a server over stdio gets its variables from the file and from the files that it names", () => {
  const result = read(JSON.stringify({ upstreams: [{ ...spawned, env: { A: "a", KEY: { file: "/secret" } } }] }));
  expect(result).toMatchObject({ ok: true, files: ["/secret"] });
  expect(result.ok && result.upstreams.byName.get("spawned")).toMatchObject({
    credential: { kind: "session" },
    stdio: { command: spawned.command, env: { A: "a", KEY: "s3cret" }, maxProcesses: 16, idleMs: 300_000 },
  });
});

describe("a single fault rejects the whole file", () => {
  test.each<[string, unknown[], string]>([
    ["an unknown member", [{ ...ledger, retries: 3 }], "upstreams.0"],
    [
      "an unknown member of a route",
      [{ ...ledger, routes: [{ ...ledger.routes[0], priviledged: true }] }],
      "priviledged",
    ],
    ["no name", [{ url: "http://a" }], "upstreams.0.name"],
    ["a name with a slash", [{ name: "a/b", url: "http://a" }], "upstreams.0.name"],
    ["a name that is our own path", [{ name: "__svc", url: "http://a" }], "upstreams.0.name"],
    ["two of one name", [ledger, { ...ledger, hosts: [] }], "upstream ledger is listed twice"],
    ["two of one host", [ledger, { ...files, hosts: ["LEDGER.internal.:80"] }], "host ledger.internal is listed twice"],
    ["no URL", [{ name: "a", url: "a" }], "upstreams.0.url"],
    ["neither URL nor command", [{ name: "a", protocol: "mcp" }], "needs either url or command"],
    ["a URL and a command", [{ ...files, command: ["x"] }], "needs either url or command"],
    ["a command of another protocol", [{ name: "a", protocol: "http", command: ["x"] }], "upstreams.0"],
    ["an empty command", [{ ...spawned, command: [] }], "upstreams.0.command"],
    ["variables beside a URL", [{ ...files, env: {}, cwd: "/" }], "only with command: env, cwd"],
    ["a credential beside a command", [{ ...spawned, credential: "none" }], "only with url: tls, credential, routes"],
    ["a variable of ours", [{ ...spawned, env: { SVC_ADMIN_TOKEN: "x" } }], "upstreams.0.env"],
    ["a variable without a name", [{ ...spawned, env: { "A=B": "x" } }], "upstreams.0.env"],
    ["a value whose file is missing", [{ ...spawned, env: { KEY: { file: "/gone" } } }], "/gone cannot be read"],
    ["credentials in the URL", [{ name: "a", url: "http://u:p@a" }], "upstreams.0.url"],
    ["a query in the URL", [{ name: "a", url: "http://a/?x" }], "upstreams.0.url"],
    ["an ambiguous path in the URL", [{ name: "a", url: "http://a/x%2fy" }], "upstreams.0.url"],
    ["another scheme", [{ name: "a", url: "ftp://a" }], "upstreams.0.url"],
    ["a host that is none", [{ ...ledger, hosts: ["a b"] }], "upstreams.0.hosts.0"],
    ["an unknown protocol", [{ ...ledger, protocol: "grpc" }], "upstreams.0.protocol"],
    ["an unknown mode", [{ ...ledger, mode: "enforcing" }], "upstreams.0.mode"],
    ["routes on an MCP upstream", [{ ...files, routes: ledger.routes }], "upstreams.0.routes"],
    ["tools on an HTTP upstream", [{ ...ledger, tools: {} }], "tools"],
    ["a relative route", [{ ...ledger, routes: [{ ...ledger.routes[0], path: "entries" }] }], "routes.0.path"],
    ["an ambiguous route", [{ ...ledger, routes: [{ ...ledger.routes[0], path: "/a/../b" }] }], "routes.0.path"],
    ["a star inside", [{ ...ledger, routes: [{ ...ledger.routes[0], path: "/*/b" }] }], "routes.0.path"],
    ["a star within a segment", [{ ...ledger, routes: [{ ...ledger.routes[0], path: "/a*" }] }], "routes.0.path"],
    ["a name within a segment", [{ ...ledger, routes: [{ ...ledger.routes[0], path: "/a:b" }] }], "routes.0.path"],
    [
      "a method in small letters",
      [{ ...ledger, routes: [{ ...ledger.routes[0], methods: ["get"] }] }],
      "routes.0.methods.0",
    ],
    ["no methods", [{ ...ledger, routes: [{ ...ledger.routes[0], methods: [] }] }], "routes.0.methods"],
    [
      "a target outside the alphabet",
      [{ ...ledger, routes: [{ ...ledger.routes[0], target: "http:a b" }] }],
      "target must be",
    ],
    [
      "two data classes for a tool",
      [{ ...ledger, routes: [{ ...ledger.routes[0], data_class: "a b" }] }],
      "target must be",
    ],
    [
      "an agent that is none",
      [{ ...ledger, routes: [{ ...ledger.routes[0], target: "http:a", target_kind: "agent" }] }],
      "target must be",
    ],
    ["connect: false", [{ ...ledger, routes: [{ connect: false, target: "a", data_class: "a" }] }], "routes.0"],
    [
      "two connect routes",
      [{ ...files, routes: [1, 2].map(() => ({ connect: true, target: "a", data_class: "a" })) }],
      "more than one connect route",
    ],
    ["a data class with an empty segment", [{ ...files, data_class: "docs." }], "upstreams.0.data_class"],
    ["a certificate without its key", [{ ...ledger, tls: { cert_file: "/cert.pem" } }], "go together"],
    ["a file that cannot be read", [{ ...ledger, tls: { ca_file: "/gone" } }], "upstream ledger: /gone cannot be read"],
    [
      "a secret of two lines",
      [{ ...ledger, credential: { header: "x-key", value_file: "/two-lines" } }],
      "one line of visible ASCII",
    ],
    ["a header that is none", [{ ...ledger, credential: { header: "x key", value_file: "/secret" } }], "credential"],
    [
      "passthrough while enforcing",
      [{ ...ledger, credential: "passthrough" }],
      "needs allow_passthrough_when_enforcing",
    ],
  ])("%s is a fault", (_name, upstreams, want) => {
    expect(faults(upstreams)).toEqual(expect.arrayContaining([expect.stringContaining(want)]));
  });

  test.each([
    ["broken YAML", "upstreams: ["],
    ["a repeated key", "upstreams: []\nupstreams: []"],
    ["nothing", ""],
    ["a list", "[]"],
    ["an unknown member", "upstreams: []\nupstream: []"],
  ])("%s is a fault", (_name, text) => {
    expect(read(text)).toMatchObject({ ok: false });
  });

  test("every fault is reported at once", () => {
    expect(faults([{ ...ledger, mode: "x", hosts: ["a b"] }, { name: "-" }])).toHaveLength(4);
  });

  test("no fault shows a secret", () => {
    contents["/bad-secret"] = "s3cret\u0001";
    const reported = faults([{ ...ledger, credential: { header: "x-key", value_file: "/bad-secret" } }]);
    expect(reported.join()).toContain("visible ASCII");
    expect(reported.join()).not.toContain("s3cret");
  });
});

test("passthrough is valid in observe mode, or when the file allows it", () => {
  const passthrough = { ...ledger, credential: "passthrough" };
  expect(faults([passthrough], "observe")).toEqual([]);
  expect(faults([{ ...passthrough, mode: "observe" }])).toEqual([]);
  expect(faults([{ ...passthrough, allow_passthrough_when_enforcing: true }])).toEqual([]);
});
