import { describe, expect, test } from "vitest";
import { unallowedTargets } from "../src/start/check.ts";
import { suggestRoutes } from "../src/start/suggest-routes.ts";
import { readUpstreams, upstreamsFile } from "../src/upstreams/upstreams-file.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";
import { upstreamsFrom } from "./support/upstreams.ts";

const small = { when: { "/amount": { max: 500 }, "?cc": { absent: true } }, data_class: "pay.small" };
const pay = { methods: ["POST"], path: "/pay", target: "http:bank/pay", classify: [small], data_class: "pay.any" };
const own = { when: { ":id": { pattern: "own-[0-9]+" } }, data_class: "read.own" };
const read = { methods: ["GET"], path: "/entries/:id", target: "http:bank/read", classify: [own] };

async function setup(settings: Record<string, string> = {}) {
  const upstream = await startedUpstream();
  const running = await startedPep({ upstreams: [{ name: "bank", url: upstream.url, routes: [pay, read] }], settings });
  running.controlPlane.policies.set("http:bank/pay", {});
  running.controlPlane.policies.set("http:bank/read", {});
  const headers = await running.session();
  const send = (path: string, body?: string | Buffer, more: object = {}) =>
    fetch(`${running.url}/bank${path}`, {
      ...(body !== undefined && { method: "POST", body }),
      headers: { ...headers, ...more },
    });
  /** Of the calls that were decided. */
  const classes = () =>
    running.controlPlane.asked
      .filter(({ path }) => path === "/v1/authorize")
      .map(({ body }) => (JSON.parse(body) as { data_class: string }).data_class);
  return { ...running, upstream, send, classes };
}

describe("the data class of a route with rules is decided by what the call sends", () => {
  test.each([
    ["what the rule admits", "/pay", '{"amount":500}', "pay.small"],
    ["the same in another spelling", "/pay", ' { "\\u0061mount" : 5e2 } ', "pay.small"],
    ["more", "/pay", '{"amount":501}', "pay.any"],
    ["a parameter that the rule wants absent", "/pay?cc=x", '{"amount":5}', "pay.any"],
    ["a parameter beside it", "/pay?c=x", '{"amount":5}', "pay.small"],
    ["a repeated member", "/pay", '{"amount":5,"amount":5}', "pay.any"],
    ["a repeated member beside it", "/pay", '{"amount":5,"a":{"b":1,"b":1}}', "pay.any"],
    ["a number that decimals read as more", "/pay", '{"amount":500.00000000000000001}', "pay.any"],
    ["text that is not Unicode", "/pay", '{"amount":5,"to":"\\ud800"}', "pay.any"],
    ["a list", "/pay", '[{"amount":5}]', "pay.any"],
    ["no JSON", "/pay", "amount=5", "pay.any"],
    ["no body", "/pay", "", "pay.any"],
  ])("%s", async (_name, path, body, want) => {
    const { send, classes, upstream } = await setup();
    expect((await send(path, body)).status).toBe(200);
    expect(classes()).toEqual([want]);
    expect(await upstream.received[0]?.body).toBe(body);
  });

  test.each([
    ["another type", { "content-type": "text/plain" }],
    ["another charset", { "content-type": "application/json; charset=utf-7" }],
    ["a coding", { "content-encoding": "gzip" }],
  ])("a body that is declared with %s satisfies no rule", async (_name, headers) => {
    const { send, classes } = await setup();
    expect((await send("/pay", '{"amount":5}', headers)).status).toBe(200);
    expect(classes()).toEqual(["pay.any"]);
  });

  test("a named path segment is read as it was sent", async () => {
    const { send, classes } = await setup();
    expect((await send("/entries/own-7")).status).toBe(200);
    expect(classes()).toEqual(["read.own"]);
  });
});

describe("a call that cannot be classified is blocked, and never decided", () => {
  test("where no rule holds and there is no other class, the answer says so", async () => {
    const { send, classes, upstream } = await setup();
    for (const id of ["7", "own-7;x", "own-%2537"]) {
      const response = await send(`/entries/${id}`);
      expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([404, "unresolvable_call"]);
      expect(await response.json()).toMatchObject({
        error: { message: expect.stringMatching(/no rule of upstream bank .*data_class for all others/) },
      });
    }
    expect([classes(), upstream.received]).toEqual([[], []]);
  });

  test("where its body is longer than the bind cap", async () => {
    const { send, classes } = await setup({ SVC_PEP_BIND_CAP_BYTES: "100" });
    const response = await send("/pay", JSON.stringify({ amount: 5, memo: "x".repeat(100) }));
    expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([413, "body_too_large"]);
    expect(classes()).toEqual([]);
    expect((await send("/pay", '{"amount":5}')).status).toBe(200);
  });
});

describe("the upstreams file", () => {
  const faultsOf = (route: object) => {
    const text = JSON.stringify({ upstreams: [{ name: "bank", url: "http://bank", routes: [route] }] });
    const result = readUpstreams(text, { defaultMode: "enforce" });
    return result.ok ? [] : result.faults;
  };

  test.each([
    ["neither a class nor rules", { ...pay, classify: undefined, data_class: undefined }],
    ["rules for an agent", { ...pay, target: "auditor", target_kind: "agent" }],
    ["a name that its path does not have", { ...pay, classify: [own] }],
    ["a name that its path has twice", { ...read, path: "/:id/:id" }],
    ["rules for a tunnel", { connect: true, target: "http:bank/any", data_class: "any", classify: [small] }],
    ["a pattern that is none", { ...pay, classify: [{ when: { "/a": { pattern: "(" } }, data_class: "a" }] }],
  ])("with %s is refused", (_name, route) => {
    expect(faultsOf(route)).not.toEqual([]);
  });

  test("--check names every class that a route can get", () => {
    expect(unallowedTargets(upstreamsFrom([{ name: "bank", url: "http://bank", routes: [pay, read] }]), [])).toEqual([
      "bank: http:bank/pay for pay.small is in no policy",
      "bank: http:bank/pay for pay.any is in no policy",
      "bank: http:bank/read for read.own is in no policy",
    ]);
  });

  test("a route with rules is another call than every route beside it, also for the same target", async () => {
    const routes = [read, { ...read, path: "/entries/:id/" }];
    const { protocol } = upstreamsFrom([{ name: "bank", url: "http://bank", routes }]).all[0] ?? expect.fail();
    expect(protocol.resolve("GET", "/entries/own-1")).toHaveProperty("ambiguous");
  });

  test("a suggestion neither repeats a route with rules nor changes what it serves", () => {
    const entries = upstreamsFile.parse({
      upstreams: [{ name: "bank", url: "http://bank", routes: [pay, read] }],
    }).upstreams;
    const call = (method: string, path: string) =>
      ({ upstream: "bank", method, path, cause: "unresolvable_call", count: 1 }) as const;
    const calls = [call("GET", "/entries/:id"), call("POST", "/pay/"), call("PUT", "/pay")];
    const [found] = suggestRoutes(calls, entries);
    expect(found?.routes.map(({ methods, path }) => `${methods} ${path}`)).toEqual(["PUT /pay"]);
    expect(found?.open.map(({ path, why }) => [path, why])).toEqual([["/pay/", expect.stringContaining("POST /pay")]]);
  });
});
