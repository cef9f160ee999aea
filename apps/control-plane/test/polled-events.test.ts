import { aManifest, aTool, startEchoUpstream, waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { pollEvents } from "../src/background/poll-events.ts";
import { receiveEvent } from "../src/commands/signals/receive-event.ts";
import { eventPoll } from "../src/identity-provider/event-poll.ts";
import { startSignIn } from "./sign-in-support.ts";
import { type EventChanges, signalsSettings, signedEvent } from "./signals-support.ts";
import { registerAgent } from "./support.ts";

const pollToken = "poll-token";
let plane: Awaited<ReturnType<typeof startSignIn>>;
beforeAll(async () => {
  plane = await startSignIn({
    ...signalsSettings,
    SVC_SIGNALS_POLL_URL: "https://provider.test/poll",
    SVC_SIGNALS_POLL_TOKEN: pollToken,
  });
  await registerAgent(plane, "reader", aManifest("expenses", { tools: [aTool("http:ledger/read")] }));
});
afterAll(() => plane.stop());

async function consent(): Promise<() => Promise<unknown>> {
  const { json } = await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada" } });
  return async () => (await plane.send(`/v1/sessions/${json.session_id}`)).json.status;
}

interface Poll {
  readonly ack: readonly string[];
  readonly setErrs: Readonly<Record<string, { readonly err: string }>>;
}

/** A provider's poll endpoint: it returns at most two tokens, in order, until each is answered. */
async function startPollEndpoint() {
  const waiting = new Map<string, string>();
  const polls: Poll[] = [];
  let status = 200;
  const server = await startEchoUpstream(({ body, rawHeaders }, response) => {
    if (!rawHeaders.includes(`Bearer ${pollToken}`)) return void response.writeHead(401).end();
    if (status !== 200) return void response.writeHead(status, { location: "/elsewhere" }).end();
    const poll: Poll = JSON.parse(String(body));
    polls.push(poll);
    for (const jti of [...poll.ack, ...Object.keys(poll.setErrs)]) waiting.delete(jti);
    const sets = Object.fromEntries([...waiting].slice(0, 2));
    response.setHeader("content-type", "application/json");
    response.end(JSON.stringify({ sets, moreAvailable: waiting.size > 2 }));
  });
  onTestFinished(server.stop);
  return {
    url: new URL(server.url),
    waiting,
    polls,
    answerWith: (code: number) => {
      status = code;
    },
    async add(changes: EventChanges = {}): Promise<string> {
      const jti = crypto.randomUUID();
      waiting.set(jti, await signedEvent(plane.provider, { jti, ...changes }));
      return jti;
    },
  };
}

function startPolling(url: URL, receive = receiving()) {
  const faults: unknown[] = [];
  const polling = pollEvents({
    poll: eventPoll({ url, token: pollToken }),
    receive,
    onFault: (error) => faults.push(error),
    everyMs: 20,
  });
  onTestFinished(polling.close);
  return faults;
}

function receiving() {
  const { securityEvents, ...deps } = plane.deps;
  if (securityEvents === undefined) throw new Error("no events are expected");
  return (token: string) => receiveEvent({ ...deps, securityEvents }, token);
}

test("events are fetched, have their effect, and are acknowledged or reported", async () => {
  const status = await consent();
  const endpoint = await startPollEndpoint();
  const good = [await endpoint.add(), await endpoint.add({ sub: "ben" })];
  const bad = await endpoint.add({ aud: "https://evil.test" });
  startPolling(endpoint.url);
  await waitUntil("every answer", async () => endpoint.waiting.size === 0);
  expect(await status()).toBe("revoked");
  expect(endpoint.polls.flatMap(({ ack }) => ack)).toEqual(good);
  expect(endpoint.polls.map(({ setErrs }) => setErrs[bad]?.err)).toContain("invalid_audience");
});

test("an event that could not have its effect is not acknowledged, and is taken with a later poll", async () => {
  const status = await consent();
  const endpoint = await startPollEndpoint();
  const jti = await endpoint.add();
  const receive = receiving();
  let fails = 2;
  const faults = startPolling(endpoint.url, (token) => {
    fails -= 1;
    return fails >= 0 ? Promise.reject(new Error("the database is down")) : receive(token);
  });
  await waitUntil("the answer", async () => endpoint.waiting.size === 0);
  expect(await status()).toBe("revoked");
  expect(endpoint.polls.flatMap(({ ack }) => ack)).toEqual([jti]);
  expect(faults).toHaveLength(1);
});

test.each([302, 307, 401, 500])(
  "an endpoint that answers with %i is asked again, and no other address",
  async (code) => {
    const status = await consent();
    const endpoint = await startPollEndpoint();
    endpoint.answerWith(code);
    await endpoint.add();
    const faults = startPolling(endpoint.url);
    await waitUntil("the fault", async () => faults.length > 0);
    expect(await status()).toBe("active");
    endpoint.answerWith(200);
    await waitUntil("the answer", async () => endpoint.waiting.size === 0);
    expect(await status()).toBe("revoked");
  },
);
