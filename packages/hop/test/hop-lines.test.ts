import { describe, expect, test } from "vitest";
import {
  hopLines,
  hopsOffer,
  sharedDeadlines,
  type Transport,
  TransportFault,
  type TransportRequest,
} from "../src/index.ts";

const line = (token: string) => ({
  sessionId: "s",
  target: "http:ledger/read",
  targetKind: "tool" as const,
  dataClass: "finance",
  token,
  bodySettled: true,
});

interface Sent {
  readonly request: TransportRequest;
  readonly tokens: readonly string[];
  answer(...answers: (object | string)[]): void;
  end(status?: number, body?: string): void;
  fail(fault: TransportFault): void;
}

function setUp() {
  const sent: Sent[] = [];
  const transport: Transport = {
    send: (request) =>
      new Promise((resolve, reject) => {
        const lines = (request.body ?? "").trimEnd().split("\n");
        sent.push({
          request,
          tokens: lines.map((text) => JSON.parse(text).token),
          answer: (...answers) =>
            request.onLines?.(answers.map((each) => (typeof each === "string" ? each : JSON.stringify(each)))),
          end: (status = 200, body = "") => resolve({ status, headers: {}, body }),
          fail: reject,
        });
      }),
  };
  const take = (token: string, options: { deadlineMs?: number; signal?: AbortSignal } = {}) => {
    const taken = hops.take(line(token), { deadlineMs: 60_000, ...options }).catch((fault: TransportFault) => fault);
    return taken;
  };
  const own: number[] = [];
  const monotonicMs = () => performance.now();
  const shared = sharedDeadlines(monotonicMs);
  const hops = hopLines(transport, monotonicMs, (ms, late) => {
    own.push(ms);
    return shared(ms, late);
  });
  /** `own`: the deadlines of single lines. */
  return { sent, take, own };
}

const ending =
  (...answers: (object | string)[]) =>
  (sent: Sent) => {
    sent.answer(...answers);
    sent.end();
  };

const nextTurn = () => new Promise((resolve) => setImmediate(resolve));
const tokens = (count: number) => Array.from({ length: count }, (_, n) => `t${n}`);

describe("lines of one turn of the event loop", () => {
  test("go together, and those of the next one apart", async () => {
    const { sent, take } = setUp();
    void take("a");
    void take("b");
    await nextTurn();
    void take("c");
    await nextTurn();
    expect(sent.map((each) => each.tokens)).toEqual([["a", "b"], ["c"]]);
  });

  test("are at most 64 a request", async () => {
    const { sent, take } = setUp();
    for (const token of tokens(130)) void take(token);
    await nextTurn();
    expect(sent.map((each) => each.tokens.length)).toEqual([64, 64, 2]);
  });

  test.each<[string, string]>([
    ["one byte", "x"],
    ["three bytes", "\u20ac"],
  ])("are at most 1 MiB a request, of characters of %s", async (_name, character) => {
    const { sent, take } = setUp();
    for (const token of tokens(64)) void take(token.padEnd(20_000, character));
    await nextTurn();
    const bytes = sent.map(({ request }) => Buffer.byteLength(request.body ?? ""));
    expect(Math.max(...bytes)).toBeLessThanOrEqual(1_048_576);
    expect(sent.flatMap((each) => each.tokens)).toHaveLength(64);
  });

  test("have the time of the most patient one, and room for the answer of each", async () => {
    const { sent, take } = setUp();
    void take("a", { deadlineMs: 60_000 });
    void take("b", { deadlineMs: 600_000 });
    await nextTurn();
    const [{ deadlineMs, maxResponseBytes } = { deadlineMs: 0, maxResponseBytes: 0 }] = sent.map(
      ({ request }) => request,
    );
    expect(deadlineMs).toBeGreaterThan(60_000);
    expect(maxResponseBytes).toBe(2 * 64 * 1024);
  });
});

test("each line gets its own answer as it comes, in any order", async () => {
  const { sent, take } = setUp();
  const [first, second] = [take("a"), take("b")];
  await nextTurn();
  sent[0]?.answer({ line: 1, stages: { decide: 1 } });
  expect(await second).toMatchObject({ line: 1 });
  sent[0]?.answer({ line: 0, stages: { decide: 2 } });
  expect(await first).toMatchObject({ line: 0 });
});

describe("a line without an answer", () => {
  test.each<[string, (sent: Sent) => void, object]>([
    ["after a whole answer that lacks it", (sent) => sent.end(), { code: "unreachable", isUnsent: false }],
    ["in garbled text", ending("{", "[]", '{"line":"0"}'), { code: "unreachable" }],
    ["of a line that was not asked", ending({ line: 7 }), { code: "unreachable" }],
    ["after a cut", (sent) => sent.fail(new TransportFault("unreachable")), { code: "unreachable", isUnsent: false }],
    [
      "after a refused connect",
      (sent) => sent.fail(new TransportFault("refused")),
      { code: "refused", isUnsent: true },
    ],
  ])("%s has the fault", async (_name, act, fault) => {
    const { sent, take } = setUp();
    const taken = take("a");
    await nextTurn();
    if (sent[0]) act(sent[0]);
    expect(await taken).toMatchObject(fault);
  });

  test("in its own time does not wait for the others", async () => {
    const { sent, take } = setUp();
    const [brief, patient] = [take("a", { deadlineMs: 1 }), take("b")];
    expect(await brief).toMatchObject({ code: "timeout", isUnsent: false });
    sent[0]?.answer({ line: 1 });
    expect(await patient).toMatchObject({ line: 1 });
  });

  test("in the time of its request has that one's fault, which says whether it was sent", async () => {
    const { sent, take, own } = setUp();
    const taken = [take("a"), take("b")];
    await nextTurn();
    sent[0]?.fail(new TransportFault("timeout", { isUnsent: true }));
    expect(await Promise.all(taken)).toMatchObject(Array(2).fill({ code: "timeout", isUnsent: true }));
    expect(own).toEqual([]);
  });

  test("whose agent left is not sent, if it was not yet", async () => {
    const { sent, take } = setUp();
    const gone = new AbortController();
    const taken = take("a", { signal: gone.signal });
    void take("b");
    gone.abort();
    expect(await taken).toMatchObject({ code: "aborted", isUnsent: true });
    await nextTurn();
    expect(sent[0]?.tokens).toEqual(["b"]);
  });

  test("whose agent had left before is not sent", async () => {
    const { sent, take } = setUp();
    expect(await take("a", { signal: AbortSignal.abort() })).toMatchObject({ code: "aborted", isUnsent: true });
    await nextTurn();
    expect(sent).toEqual([]);
  });

  test("whose agent left after it was sent may have been spent", async () => {
    const { take } = setUp();
    const gone = new AbortController();
    const taken = take("a", { signal: gone.signal });
    await nextTurn();
    gone.abort();
    expect(await taken).toMatchObject({ code: "aborted", isUnsent: false });
  });
});

test("a request that is refused as a whole answers each of its lines", async () => {
  const { sent, take } = setUp();
  const taken = [take("a"), take("b")];
  await nextTurn();
  sent[0]?.end(404, '{"error":{"code":"route_not_found"}}');
  const authorize = { status: 404, body: { error: { code: "route_not_found" } } };
  expect(await Promise.all(taken)).toEqual([
    { line: 0, authorize },
    { line: 1, authorize },
  ]);
});

describe("the offer", () => {
  const metadata = (more: object) => ({
    ...{
      issuer: "https://i",
      token_endpoint: "https://i/t",
      jwks_uri: "https://i/j",
      service_documentation: "https://i/d",
    },
    ...{ grant_types_supported: [], response_types_supported: [], token_endpoint_auth_methods_supported: [] },
    ...more,
  });
  const offered = { status: 200, body: metadata({ svc_hops_endpoint: "https://i/v1/hops" }) };
  function offerOf(...answers: readonly (object | TransportFault)[]) {
    let nowMs = 0;
    let asked = 0;
    const transport: Transport = {
      async send() {
        const answer = answers[Math.min(asked++, answers.length - 1)];
        if (answer instanceof TransportFault) throw answer;
        const { status, body } = answer as { status: number; body: object };
        return { status, headers: {}, body: JSON.stringify(body) };
      },
    };
    const offer = hopsOffer(transport, () => nowMs);
    /** As a call finds it once the metadata that it had requested are read. */
    const holds = async () => {
      offer.holds(1_000);
      await nextTurn();
      return offer.holds(1_000);
    };
    return { offer, holds, asked: () => asked, pass: (ms: number) => (nowMs += ms) };
  }

  test("is what the metadata say, asked once for all calls", async () => {
    const { holds, asked } = offerOf(offered);
    expect(await Promise.all([holds(), holds()])).toEqual([true, true]);
    expect([await holds(), asked()]).toEqual([true, 1]);
  });

  test("is none until the metadata are read: no call waits for them", async () => {
    const { offer, holds } = offerOf(offered);
    expect(offer.holds(1_000)).toBe(false);
    expect(await holds()).toBe(true);
  });

  test("that is known holds while the metadata are read again", async () => {
    const { offer, holds, pass, asked } = offerOf(offered);
    expect(await holds()).toBe(true);
    pass(300_000);
    expect([offer.holds(1_000), asked()]).toEqual([true, 2]);
  });

  test.each<[string, object | TransportFault]>([
    ["metadata of an earlier release", { status: 200, body: metadata({}) }],
    ["a refusal", { ...offered, status: 404 }],
    ["other metadata", { status: 200, body: {} }],
    ["no answer", new TransportFault("timeout")],
  ])("is none after %s", async (_name, answer) => {
    expect(await offerOf(answer).holds()).toBe(false);
  });

  test("is asked for again soon after a fault, and later after an answer", async () => {
    const { holds, pass } = offerOf(new TransportFault("refused"), { status: 200, body: metadata({}) }, offered);
    expect(await holds()).toBe(false);
    pass(1_000);
    expect(await holds()).toBe(false);
    pass(1_000);
    expect(await holds()).toBe(false);
    pass(300_000);
    expect(await holds()).toBe(true);
  });

  test("that is withdrawn holds no longer, and is asked for again later", async () => {
    const { holds, offer, pass } = offerOf(offered);
    expect(await holds()).toBe(true);
    pass(299_000);
    offer.withdrawn();
    expect(await holds()).toBe(false);
    pass(2_000);
    expect(await holds()).toBe(false);
    pass(298_000);
    expect(await holds()).toBe(true);
  });
});
