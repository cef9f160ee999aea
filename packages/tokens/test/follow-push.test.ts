import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { followPush, PushFault, type SentEvent } from "../src/index.ts";

interface Answered {
  readonly status?: number;
  readonly type?: string;
  readonly text?: string;
  /** Sent after the text, a piece each millisecond, without end. */
  readonly drip?: string;
  /** Lengths in bytes of the pieces; the last one is repeated. */
  readonly pieces?: readonly number[];
}
type Answer = string | Error | "hangs" | Answered;
interface Sent {
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly redirect: string;
}

const utf8 = new TextEncoder();

/** A server that gives one answer after the other, and hangs after the last one, with timers that pass at once. */
function follow(answers: readonly Answer[], options: { lastEventId?: string; sinceMs?: () => number } = {}) {
  const sent: Sent[] = [];
  const failures: unknown[] = [];
  const waited: number[] = [];
  const stopping = new AbortController();
  const hung = (signal: AbortSignal) =>
    new Promise<never>((_, reject) => signal.addEventListener("abort", () => reject(new Error("aborted"))));
  async function* bodyOf({ text = "", drip, pieces = [1] }: Answered, hangs: boolean, signal: AbortSignal) {
    const bytes = utf8.encode(text);
    // A byte each splits characters, lines and events.
    for (let from = 0, n = 0; from < bytes.length; n += 1) {
      const to = from + (pieces[n] ?? pieces.at(-1) ?? 1);
      yield bytes.slice(from, to);
      from = to;
    }
    for (let n = 0; drip !== undefined && !signal.aborted; n += 1) {
      yield utf8.encode(drip);
      await new Promise((resolve) => setTimeout(resolve, 1));
      if (n === 1_000) stopping.abort();
    }
    if (signal.aborted) throw new Error("aborted");
    if (hangs) await hung(signal);
  }
  const events = followPush(
    {
      fetch: async (url, { headers, redirect, signal }) => {
        const answer = answers[sent.length] ?? "hangs";
        sent.push({ url, headers, redirect });
        // A test that waits for more than there is fails by what it took.
        if (sent.length > answers.length + 9) stopping.abort();
        if (answer instanceof Error) throw answer;
        const given: Answered = answer === "hangs" ? {} : typeof answer === "string" ? { text: answer } : answer;
        const { status = 200, type = "text/event-stream" } = given;
        const isLast = sent.length > answers.length;
        return {
          status,
          headers: new Headers({ "content-type": type }),
          body: bodyOf(given, answer === "hangs" || isLast, signal),
        };
      },
      random: () => 0.5,
      after: (ms, run) => {
        // Of silence only where the stream hangs: everything else comes at once.
        const timer = setTimeout(run, ms === 15_000 ? 50 : 0);
        if (ms !== 15_000) waited.push(ms);
        return () => clearTimeout(timer);
      },
    },
    {
      ...{ url: "http://plane/stream", token: "reader", signal: stopping.signal, ...options },
      onFailure: (error) => void failures.push(error),
    },
  );
  return { events, sent, failures, waited, stop: () => stopping.abort() };
}

/** As many events as are wanted; then it stops. */
async function take({ events, stop }: ReturnType<typeof follow>, count: number): Promise<readonly SentEvent[]> {
  const taken: SentEvent[] = [];
  for await (const event of events) if (taken.push(event) === count) stop();
  return taken;
}

const event = (data: string) => `event: e\ndata: ${data}\n\n`;
const beat = (id: string) => `event: heartbeat\nid: ${id}\ndata: {}\n\n`;

describe("the text", () => {
  test.each<[string, string, readonly Partial<SentEvent>[]]>([
    ["of an event with an id", `event: a\nid: 7\ndata: ö\n\n`, [{ event: "a", id: "7", data: "ö" }]],
    [
      "with other line ends, comments, unknown fields",
      ": c\r\nretry: 1\r\nevent:a\r\ndata:1\r\n\r\n",
      [{ event: "a", data: "1" }],
    ],
    ["without data is no event, but its id counts", `id: 7\n\n${event("1")}`, [{ id: "7", data: "1" }]],
    ["of no name is a message", "data: 1\n\n", [{ event: "message" }]],
    ["of an id that no header can carry keeps the one before", beat("7") + beat("\u20ac"), [{ id: "7" }, { id: "7" }]],
    ["of separators that end no line here", event(`"a\u2028b\u2029c"`), [{ data: `"a\u2028b\u2029c"` }]],
    ["of repeated events brings them again", event("1").repeat(2), [{ data: "1" }, { data: "1" }]],
  ])("%s", async (_name, text, want) => {
    expect(await take(follow([text]), want.length)).toMatchObject(want);
  });

  test("is the same events, wherever it is split", async () => {
    const value = fc.string({ unit: "binary", minLength: 1, maxLength: 12 }).map((each) => JSON.stringify(each));
    const some = fc.array(fc.record({ data: value, id: fc.option(fc.stringMatching(/^\d{1,9}\.\d{1,9}$/)) }), {
      minLength: 1,
      maxLength: 6,
    });
    const pieces = fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 30 });
    await fc.assert(
      fc.asyncProperty(some, fc.constantFrom("\n", "\r\n"), pieces, async (events, lineEnd, lengths) => {
        const lines = events.map(({ data, id }) => [
          `event: e`,
          ...(id === null ? [] : [`id: ${id}`]),
          `data: ${data}`,
        ]);
        const text = lines.map((each) => [...each, "", ""].join(lineEnd)).join("");
        const taken = await take(follow([{ text, pieces: lengths }]), events.length);
        expect(taken.map(({ data }) => data)).toEqual(events.map(({ data }) => data));
        expect(taken.at(-1)?.id).toBe(events.findLast(({ id }) => id !== null)?.id ?? undefined);
      }),
      { numRuns: 200 },
    );
  });
});

describe("a stream", () => {
  test("begins at `since` or at a position, and resumes after a cut from the last one", async () => {
    const following = follow([event("1") + beat("7"), new Error("reset"), event("2")], { sinceMs: () => 0 });
    expect((await take(following, 3)).map(({ data }) => data)).toEqual(["1", "{}", "2"]);
    expect(following.sent.map(({ url, headers }) => [url, headers["last-event-id"]])).toEqual([
      ["http://plane/stream?since=1970-01-01T00:00:00.000Z", undefined],
      ["http://plane/stream", "7"],
      ["http://plane/stream", "7"],
    ]);
    expect((await take(follow([event("1")], { lastEventId: "5" }), 1)).length).toBe(1);
  });

  test("is requested under its bearer, and follows no redirect", async () => {
    const following = follow([event("1")]);
    await take(following, 1);
    expect(following.sent).toMatchObject([
      { redirect: "manual", headers: { authorization: "Bearer reader", accept: "text/event-stream" } },
    ]);
  });

  test.each<[string, Answer, string | undefined]>([
    ["a bearer that is refused", { status: 401 }, "7"],
    ["a redirect", { status: 302 }, "7"],
    ["too many readers", { status: 429 }, "7"],
    ["a control plane without its database", { status: 503 }, "7"],
    ["an id that is refused, which is not sent again", { status: 400 }, undefined],
    ["a page", { type: "text/html", text: event("page") }, "7"],
    ["no connection", new Error("refused"), "7"],
    ["silence", "hangs", "7"],
    ["an event that comes in bytes and never ends", { text: "data: ", drip: "x" }, "7"],
    ["lines without an event", { drip: ": alive\n\n" }, "7"],
    ["a stream that ends without an event", { text: ": alive\n\n" }, "7"],
    ["an endless line", "x".repeat(70_000), "7"],
  ])("after %s is opened again, and brings nothing of that answer", async (_name, answer, resumed) => {
    const following = follow([beat("7"), answer, event("2")]);
    expect((await take(following, 2)).map(({ data }) => data)).toEqual(["{}", "2"]);
    expect(following.sent.at(-1)?.headers["last-event-id"]).toBe(resumed);
    expect(following.failures).toHaveLength(1);
    expect(JSON.stringify(following.failures)).not.toContain("plane");
  });

  test("waits longer after each failure, half a minute at most, and briefly after an event", async () => {
    const following = follow([...Array<Answer>(9).fill({ status: 503 }), event("1"), event("2")]);
    await take(following, 2);
    expect(following.waited).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000, 250]);
    expect(following.failures.every((each) => each instanceof PushFault && each.status === 503)).toBe(true);
  });

  test("ends where it is stopped, also while it waits, without a failure", async () => {
    const following = follow([event("1")]);
    for await (const _event of following.events) break;
    expect(following.sent).toHaveLength(1);
    const hanging = follow([]);
    setTimeout(hanging.stop);
    expect(await take(hanging, 1)).toEqual([]);
    expect(hanging.failures).toEqual([]);
  });
});
