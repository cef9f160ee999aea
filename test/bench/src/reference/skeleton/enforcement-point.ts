import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { authorizeBody, exchangeBody } from "../../rig/hop-bodies.ts";
import { listen } from "../../servers/listen.ts";
import { forward, poolOf } from "./forward.ts";

/** The lower bound of any enforcement point of this architecture: two sequential requests, then the forward. */
const [controlPlane = "", upstream = ""] = process.argv.slice(2);
const [decisions, tools] = [poolOf(controlPlane), poolOf(upstream)];
const read = { target: "http:bench/read", targetKind: "tool", dataClass: "bench" } as const;

listen(
  createServer((request, response) => {
    hop(request, response).catch(() => response.destroy());
  }),
);

async function hop(request: IncomingMessage, response: ServerResponse): Promise<void> {
  const token = request.headers.authorization?.slice("Bearer ".length) ?? "";
  const sessionId = String(request.headers["x-svc-session"]);
  const json = ["authorization", `Bearer ${token}`, "content-type", "application/json"];
  const decided = await ask("/v1/authorize", json, authorizeBody(sessionId, read));
  if (decided?.decision !== "allow") return refuse(response);
  const form = ["content-type", "application/x-www-form-urlencoded"];
  const granted = await ask("/v1/token/exchange", form, exchangeBody(token, read, decided.action_id ?? ""));
  if (granted === undefined) return refuse(response);
  forward(tools, request, response, [
    "authorization",
    `Bearer ${granted.access_token}`,
    ...["x-svc-session", sessionId, "accept", "application/json"],
  ]);
}

const refuse = (response: ServerResponse): void => void response.writeHead(403).end();

/** Members of the control plane's responses that a hop needs. */
type Answer = Partial<Record<"decision" | "action_id" | "access_token", string>>;

/** @returns undefined for anything but 200 */
function ask(path: string, headers: string[], body: string): Promise<Answer | undefined> {
  return new Promise((resolve, reject) => {
    let isGiven = false;
    const chunks: Buffer[] = [];
    decisions.dispatch(
      { method: "POST", path, headers, body },
      {
        onRequestStart() {},
        onResponseStart(_controller, status) {
          isGiven = status === 200;
        },
        onResponseData: (_controller, chunk) => void chunks.push(chunk),
        onResponseEnd: () => resolve(isGiven ? JSON.parse(Buffer.concat(chunks).toString()) : undefined),
        onResponseError: (_controller, cause) => reject(cause),
      },
    );
  });
}
