import { setImmediate as nextTurn } from "node:timers/promises";

export const ndjson = "application/x-ndjson";

const headers = { "Content-Type": ndjson, "Cache-Control": "no-store" };

/**
 * Each line as soon as it is there, those of one turn of the event loop in one piece. Lines that are all there in the
 * first turn are a plain answer with a length.
 */
export async function linesResponse(lines: readonly Promise<string>[]): Promise<Response> {
  const turns = linesByTurn(lines);
  const first = await turns.next();
  return first.value.isLast
    ? new Response(first.value.text, { headers })
    : new Response(ReadableStream.from(rest(first.value.text, turns)), { headers });
}

interface Turn {
  readonly text: string;
  readonly isLast: boolean;
}

async function* linesByTurn(lines: readonly Promise<string>[]): AsyncGenerator<Turn, Turn> {
  let text = "";
  let left = lines.length;
  let arrival = Promise.withResolvers<void>();
  for (const line of lines) {
    void line.then((json) => {
      text += `${json}\n`;
      left -= 1;
      arrival.resolve();
    });
  }
  for (;;) {
    await arrival.promise;
    if (left > 0) await nextTurn();
    const turn = { text, isLast: left === 0 };
    if (turn.isLast) return turn;
    text = "";
    arrival = Promise.withResolvers<void>();
    yield turn;
  }
}

async function* rest(first: string, turns: AsyncGenerator<Turn, Turn>): AsyncGenerator<Uint8Array> {
  yield utf8.encode(first);
  for (;;) {
    const { value } = await turns.next();
    yield utf8.encode(value.text);
    if (value.isLast) return;
  }
}

const utf8 = new TextEncoder();
