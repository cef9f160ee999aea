import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { hopLineText } from "../../rig/hop-bodies.ts";
import { listen } from "../../servers/listen.ts";
import { forward, poolOf } from "./forward.ts";

/** The lower bound of any enforcement point of this architecture: the hops of a turn as lines, then the forward. */
const [controlPlane = "", upstream = ""] = process.argv.slice(2);
const [decisions, tools] = [poolOf(controlPlane), poolOf(upstream)];
const read = { target: "http:bench/read", targetKind: "tool", dataClass: "bench" } as const;

/** The next token of an agent by the one that it presents. */
const siblings = new Map<string, string>();

listen(
  createServer((request, response) => {
    hop(request, response).catch(() => response.destroy());
  }),
);

async function hop(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const presented = request.headers.authorization?.slice("Bearer ".length) ?? "";
  const sessionId = String(request.headers["x-svc-session"]);
  const { exchange, sibling } = await ask(hopLineText(sessionId, siblings.get(presented) ?? presented, read));
  if (exchange?.status !== 200) return void response.writeHead(403).end();
  if (sibling !== undefined) siblings.set(presented, sibling.token);
  forward(tools, request, response, [
    "authorization",
    `Bearer ${exchange.body.access_token}`,
    ...["x-svc-session", sessionId, "accept", "application/json"],
  ]);
}

/** Members of a line's answer that a hop needs. */
interface Answer {
  readonly line: number;
  readonly exchange?: { readonly status: number; readonly body: { readonly access_token: string } };
  readonly sibling?: { readonly token: string };
}

type Waiting = PromiseWithResolvers<Answer> & { readonly text: string };
let waiting: Waiting[] = [];

function ask(text: string): Promise<Answer> {
  const line = { ...Promise.withResolvers<Answer>(), text };
  if (waiting.push(line) === 1) setImmediate(flush);
  return line.promise;
}

function flush(): void {
  const batch = waiting;
  waiting = [];
  let rest = "";
  const rejectAll = (cause?: unknown) => {
    for (const { reject } of batch) reject(cause);
  };
  decisions.dispatch(
    {
      method: "POST",
      path: "/v1/hops",
      headers: ["content-type", "application/x-ndjson"],
      body: batch.map(({ text }) => text).join(""),
    },
    {
      onRequestStart() {},
      onResponseStart() {},
      onResponseData(_controller, chunk) {
        const lines = (rest + chunk.toString()).split("\n");
        rest = lines.pop() ?? "";
        for (const answer of lines.map((line): Answer => JSON.parse(line))) batch[answer.line]?.resolve(answer);
      },
      onResponseEnd: () => rejectAll(),
      onResponseError: (_controller, cause) => rejectAll(cause),
    },
  );
}
