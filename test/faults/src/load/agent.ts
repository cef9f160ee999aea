import { setTimeout as delay } from "node:timers/promises";
import type { Api } from "@svc/test-conformance/api";
import { clerkSession } from "@svc/test-conformance/ledger";
import type { Random } from "@svc/test-support";
import type { Dispatcher } from "undici";
import type { Reply } from "../checker/evidence.ts";
import { type Operation, operations, requestOf, scope } from "./books.ts";

export interface AgentOptions {
  readonly name: string;
  /** The control plane for its consents. */
  readonly api: Api;
  /** Its enforcement point's. */
  readonly url: string;
  readonly dispatcher: Dispatcher;
  readonly random: Random;
  /** Longest pause between two calls. */
  readonly pauseMs: number;
  readonly onReply: (reply: Reply) => void;
}

interface Session {
  readonly headers: Readonly<Record<string, string>>;
  callsLeft: number;
}

/** Calls its tools until stopped; starts a new session after the last one ended. Never repeats a call. */
export async function runAgent(options: AgentOptions, signal: AbortSignal): Promise<void> {
  const { name, random, pauseMs, onReply } = options;
  let session: Session | undefined;
  for (let count = 1; !signal.aborted; count += 1) {
    // Where no session can start it continues with the old one, so that every fault meets calls.
    if (session === undefined || session.callsLeft <= 0) session = await beginSession(options).catch(() => session);
    if (session !== undefined) {
      session.callsLeft -= 1;
      const operation = random.of(operations);
      const reply = await makeCall(options, { operation, callId: `${name}-${count}`, headers: session.headers });
      onReply(reply);
      if (reply.blocked === "unauthorized") session.callsLeft = 0;
    }
    await delay(random.below(pauseMs));
  }
}

/** After browsing an agent is tainted and may no longer post, so sessions are short. */
async function beginSession({ api, random }: AgentOptions): Promise<Session> {
  const { session, clerk } = await clerkSession(api, scope);
  return {
    headers: { authorization: `Bearer ${clerk.token}`, "x-svc-session": session },
    callsLeft: random.between(5, 25),
  };
}

interface Call {
  readonly operation: Operation;
  readonly callId: string;
  readonly headers: Readonly<Record<string, string>>;
}

async function makeCall({ url, dispatcher }: AgentOptions, { operation, callId, headers }: Call): Promise<Reply> {
  const { method, path, body } = requestOf(operation, callId);
  try {
    const answer = await dispatcher.request({
      origin: url,
      method,
      path,
      headers: { ...headers, ...(body !== undefined && { "content-type": "application/json" }) },
      ...(body !== undefined && { body }),
    });
    await answer.body.dump();
    const blocked = answer.headers["x-svc-blocked"];
    return { callId, status: answer.statusCode, blocked: typeof blocked === "string" ? blocked : null };
  } catch {
    return { callId, status: null, blocked: null };
  }
}
