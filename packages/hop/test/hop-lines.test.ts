import { describe, expect, test } from "vitest";
import { hopLines, sharedDeadlines, type Transport, TransportFault, type TransportRequest } from "../src/index.ts";

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
