import { once } from "node:events";
import { type ClientRequest, request as httpRequest, type IncomingMessage } from "node:http";
import { waitUntil } from "@svc/test-support";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import { describe, expect, test } from "vitest";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";

const routes = [{ methods: ["POST"], path: "/note", target: "http:notes/add", data_class: "docs" }];

type Handle = Parameters<typeof startedUpstream>[0];

async function setup(mode: "enforce" | "observe" = "enforce", bodyWaitMs = 10_000, handle?: Handle) {
  const upstream = await startedUpstream(handle);
  const running = await startedPep({
    upstreams: [{ name: "notes", url: upstream.url, mode, routes }],
    settings: { SVC_PEP_BIND_CAP_BYTES: "1000" },
    limits: { bodyWaitMs },
  });
  const { policies } = running.controlPlane;
  policies.set("http:notes/add", {});
  const headers = await running.session();
  const open = (more: object = {}): ClientRequest =>
    httpRequest(`${running.url}/notes/note`, { method: "POST", headers: { ...headers, ...more } });
  const deny = () => policies.set("http:notes/add", { denyReason: "TAINT_BLOCKED" });
  return { ...running, upstream, open, deny };
}

const bearerIn = (headers: { authorization?: string | undefined } = {}): string =>
  headers.authorization?.slice("Bearer ".length) ?? "";
const responseTo = async (request: ClientRequest): Promise<IncomingMessage> => (await once(request, "response"))[0];
const exchange = "/v1/token/exchange";
const authorize = "/v1/authorize";

describe("an unprivileged body whose target may refuse taint, against a double of the control plane", () => {
  test("is read whole before the exchange: taint that arrives meanwhile blocks the call, and nothing goes upstream", async () => {
    const { open, deny, upstream, controlPlane } = await setup();
    const request = open();
    request.write("first half, ");
    await waitUntil("the decision", () => controlPlane.countOf(authorize) === 1);
    deny();
    expect(controlPlane.countOf(exchange)).toBe(0);
    request.end("second half");
    const response = await responseTo(request);
    expect([response.statusCode, response.headers["x-svc-blocked"]]).toEqual([403, "policy"]);
    expect(upstream.received).toHaveLength(0);
  });

  test("that pauses streams, and ends after a second decision", async () => {
    const { open, upstream, controlPlane } = await setup("enforce", 50);
    const request = open();
    request.write("first,");
    request.write("second,");
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    expect(controlPlane.countOf(authorize)).toBe(1);
    request.end("third");
    expect((await responseTo(request)).statusCode).toBe(200);
    expect(await upstream.received[0]?.body).toBe("first,second,third");
    expect(controlPlane.countOf(authorize)).toBe(2);
    expect(controlPlane.countOf(exchange)).toBe(1);
  });

  test("that has neither a pause nor an end streams too", async () => {
    const { open, upstream } = await setup("enforce", 100);
    const request = open();
    request.on("error", () => {});
    const pour = setInterval(() => request.write("x"), 5);
    try {
      await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    } finally {
      clearInterval(pour);
      request.destroy();
    }
  });

  test.each([
    ["that pauses", 50, ["first,", "second,"], {}],
    ["that exceeds the buffer", 10_000, ["x".repeat(2_000)], {}],
    ["of a declared length that pauses", 50, ["first,", "second,"], { "content-length": 17 }],
    ["of a declared length that exceeds the buffer", 10_000, ["x".repeat(2_000)], { "content-length": 2_004 }],
  ])(
    "%s never ends upstream after its call is denied, and the agent gets the block",
    async (_name, bodyWaitMs, pieces, length) => {
      const { open, deny, upstream, metric } = await setup("enforce", bodyWaitMs);
      const request = open(length);
      for (const piece of pieces) request.write(piece);
      await waitUntil(
        "the exchange",
        async () => (await metric('svc_pep_stage_duration_seconds_count{stage="exchange"}')) === 1,
      );
      deny();
      request.end("last");
      const response = await responseTo(request);
      expect([response.statusCode, response.headers["x-svc-blocked"]]).toEqual([403, "policy"]);
      for (const { body } of upstream.received) await expect(body).rejects.toThrow("aborted");
      expect(await metric('svc_pep_blocks_total{cause="policy"}')).toBe(1);
      expect(await metric('svc_pep_calls_total{outcome="allowed"}')).toBe(0);
    },
  );

  test("that is denied after the upstream's response began aborts that response, as a blocked call", async () => {
    const { open, deny, upstream, metric } = await setup("enforce", 50, (_request, response) => {
      response.writeHead(200, { "content-type": "text/plain" }).write("early,");
    });
    const request = open();
    request.on("error", () => {});
    request.write("first,");
    request.write("second,");
    const response = await responseTo(request);
    expect(response.statusCode).toBe(200);
    deny();
    request.end("third");
    await expect(response.toArray()).rejects.toThrow("aborted");
    await expect(upstream.received[0]?.body).rejects.toThrow("aborted");
    await waitUntil("the call to be counted", async () => (await metric('svc_pep_blocks_total{cause="policy"}')) === 1);
    expect(await metric('svc_pep_calls_total{outcome="blocked"}')).toBe(1);
  });

  test("is forwarded whole in observe mode, as a call that would be blocked, under the deny's own record", async () => {
    const { open, deny, upstream, metric, logs } = await setup("observe", 50);
    const request = open();
    request.write("first,");
    request.write("second,");
    await waitUntil("the upstream to be called", () => upstream.received.length === 1);
    deny();
    request.end("third");
    expect((await responseTo(request)).statusCode).toBe(200);
    expect(await upstream.received[0]?.body).toBe("first,second,third");
    expect(await metric('svc_pep_calls_total{outcome="observed_would_block"}')).toBe(1);
    const allowed = decodeUnverifiedHopToken(bearerIn(upstream.received[0]?.headers))?.actionId;
    expect(logs.at(-1)?.["authz.action_id"]).toMatch(/^[0-9a-f-]{36}$/);
    expect(logs.at(-1)?.["authz.action_id"]).not.toBe(allowed);
  });
});

test("each piece of an upload arrives before the next is sent, after one wait", async () => {
  const { open, upstream } = await setup("enforce", 100, (request, response) => {
    response.writeHead(200, { "content-type": "text/plain" });
    request.on("data", (piece: Buffer) => response.write(`got ${piece}`)).on("end", () => response.end(", done"));
  });
  const request = open();
  request.write("one");
  const answer = (await responseTo(request)) as IncomingMessage;
  answer.setEncoding("utf8");
  const nextPiece = async () => String((await once(answer, "data"))[0]);
  expect(await nextPiece()).toBe("got one");
  for (const piece of ["two", "three"]) {
    request.write(piece);
    expect(await nextPiece()).toBe(`got ${piece}`);
  }
  request.end();
  expect(await nextPiece()).toBe(", done");
  expect(await upstream.received[0]?.body).toBe("onetwothree");
});

test.each([
  ["that says so", { acceptsTaint: true }],
  ["that an older control plane allows under taint", { taint: "untrusted_external" }],
] as const)("a body for a target that accepts taint streams at once, to a target %s", async (_name, policy) => {
  // Longer than any test: only a body that does not wait for its end reaches the upstream.
  const { open, upstream, controlPlane } = await setup("enforce", 600_000);
  controlPlane.policies.set("http:notes/add", policy);
  const request = open();
  request.write("first,");
  await waitUntil("the first piece", async () => upstream.received.length === 1);
  controlPlane.policies.set("http:notes/add", { denyReason: "TAINT_BLOCKED" });
  request.end("second");
  expect((await responseTo(request)).statusCode).toBe(200);
  expect(await upstream.received[0]?.body).toBe("first,second");
  expect(controlPlane.countOf(authorize)).toBe(1);
});
