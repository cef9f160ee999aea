import { decodeUnverifiedHopToken } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import type { Limits } from "../src/limits.ts";
import { at, authorize, cut, exchange, hang, mint, type Reply, renew, reply } from "./support/answers.ts";
import type { ControlPlaneDouble, Override } from "./support/control-plane.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [
  { methods: ["GET"], path: "/read", target: "http:ledger/read", data_class: "finance" },
  { methods: ["POST"], path: "/write", target: "http:ledger/write", data_class: "finance" },
];

/** For a control plane that never responds. */
const brief = { stepMs: 2_000, hopMs: 6_000 };

async function setup(limits: Partial<Limits> = {}) {
  const upstream = await startedUpstream();
  const running = await startedPep({
    upstreams: [{ name: "ledger", url: upstream.url, routes }],
    limits,
  });
  const { controlPlane, url } = running;
  controlPlane.policies.set("http:ledger/read", {});
  controlPlane.policies.set("http:ledger/write", { privileged: true });
  const headers = await running.session();
  const called = async (path: "read" | "write") => {
    const post = path === "write" && { method: "POST", body: '{"amount":1}' };
    const response = await fetch(`${url}/ledger/${path}`, { headers, ...post });
    await response.arrayBuffer();
    return response.headers.get("x-svc-blocked") ?? response.status;
  };
  return { ...running, upstream, headers, called };
}

const page = reply(200, "<html><body>login</body></html>", "text/html");
const envelope = (code: string) => JSON.stringify({ error: { code, message: "x" } });
const busy = reply(503, envelope("guard_unavailable"));
const broken = reply(500, envelope("internal"));
const half: Reply = (response) => void response.writeHead(200, { "content-length": 900 }).write('{"access_token":"');

describe("against a control plane double: a request that may have been processed is sent once", () => {
  const faults: [string, Reply, Partial<Limits>?][] = [
    ["hangs", hang, brief],
    ["cuts the connection", cut],
    ["stops in the middle of its answer", half, brief],
    ["answers a page", page],
    ["fails", broken],
    ["is busy", busy],
  ];
  const stages: [string, "read" | "write", string][] = [
    ["exchange_unreachable", "read", exchange],
    ["mint_unreachable", "write", mint],
  ];
  const cases = stages.flatMap(([cause, call, path]) =>
    faults.map(([how, answer, limits]) => ({ cause, call, path, how, answer, limits })),
  );
  test.each(cases)(
    "$path $how: $cause, one request, no upstream byte",
    async ({ cause, call, path, answer, limits }) => {
      const { called, controlPlane, upstream } = await setup(limits);
      controlPlane.override = at(path, answer);
      expect(await called(call)).toBe(cause);
      expect([controlPlane.countOf(authorize), controlPlane.countOf(path)]).toEqual([1, 1]);
      expect(upstream.received).toHaveLength(0);
    },
  );

  test("the token of an exchange whose response was lost is never presented again", async () => {
    const { called, controlPlane } = await setup();
    controlPlane.override = at(exchange, cut);
    for (let call = 0; call < 3; call++) expect(await called("read")).toBe("exchange_unreachable");
    controlPlane.override = undefined;
    expect(await called("read")).toBe(200);
    const presented = controlPlane.asked
      .filter(({ path }) => path === exchange)
      .map(({ body }) => new URLSearchParams(body).get("subject_token"));
    expect(presented).toHaveLength(4);
    expect(new Set(presented).size).toBe(4);
  });
});

describe("against a control plane double with false renewals: nothing is exchanged with their tokens", () => {
  /** Renews as requested, and then returns other claims. */
  const renewing =
    (controlPlane: ControlPlaneDouble, lie: (tokens: string[]) => Promise<unknown> | unknown): Override =>
    ({ path, headers }, response) => {
      if (path !== renew) return undefined;
      const presented = String(headers.authorization).replace("Bearer ", "");
      void Promise.all([controlPlane.sibling(presented), controlPlane.sibling(presented)])
        .then(lie)
        .then((tokens) => reply(200, JSON.stringify({ tokens, expires_in: 60 }))(response));
      return true;
    };
  const changed = (controlPlane: ControlPlaneDouble, change: Parameters<ControlPlaneDouble["sibling"]>[1]) =>
    renewing(controlPlane, async ([one = ""]) => [await controlPlane.sibling(one, change)]);

  test.each<[string, (controlPlane: ControlPlaneDouble) => Override, Partial<Limits>?]>([
    ["a page", () => at(renew, page)],
    ["half an answer", () => at(renew, half), brief],
    ["no token", (plane) => renewing(plane, () => [])],
    ["something that is no token", (plane) => renewing(plane, () => ["x.y.z"])],
    ["one token twice", (plane) => renewing(plane, ([one]) => [one, one])],
    ["nine tokens", (plane) => renewing(plane, (two) => Array(9).fill(two[0]))],
    ["a token of another audience", (plane) => changed(plane, { aud: "somebody" })],
    ["a token of another scope", (plane) => changed(plane, { scope: "everything" })],
    ["a token of another human", (plane) => changed(plane, { sub: "somebody else" })],
    ["a token of another hop", (plane) => changed(plane, { hop: 2 })],
    ["a token of another session", (plane) => changed(plane, { sessionId: "another" })],
  ])("%s: exchange_unreachable, no upstream byte", async (_name, lie, limits) => {
    const { called, controlPlane, upstream } = await setup(limits);
    controlPlane.override = lie(controlPlane);
    expect(await called("read")).toBe("exchange_unreachable");
    expect(controlPlane.countOf(exchange)).toBe(0);
    expect(upstream.received).toHaveLength(0);
  });

  test("a correct renewal is used", async () => {
    const { called, controlPlane, headers } = await setup();
    controlPlane.override = renewing(controlPlane, (tokens) => tokens);
    expect(await called("read")).toBe(200);
    const [asked] = controlPlane.asked.filter(({ path }) => path === exchange);
    const used = decodeUnverifiedHopToken(new URLSearchParams(asked?.body).get("subject_token") ?? "");
    const given = decodeUnverifiedHopToken(headers.authorization.replace("Bearer ", ""));
    expect(used?.jti).not.toBe(given?.jti);
  });
});
