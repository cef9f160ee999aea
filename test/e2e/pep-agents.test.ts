import { connect } from "node:net";
import { networkInterfaces } from "node:os";
import type { Stand } from "@svc/test-conformance/stand";
import { decodeUnverifiedHopToken } from "@svc/tokens";
import { afterAll, beforeAll, expect, test } from "vitest";
import { callerOf, headersOf, openGuarded } from "./src/pep/guarded.ts";
import { arrivalsOf, decisionsOf, expectEachRecorded } from "./src/pep/record.ts";

let stand: Stand;
beforeAll(async () => {
  stand = await openGuarded();
  // The session and request that the upstream received.
  stand.upstream.answerWith((response) => {
    const { authorization = "", "x-svc-session": session } = response.req.headers;
    const token = decodeUnverifiedHopToken(authorization.replace("Bearer ", ""));
    const answer = [session, token?.sessionId, response.req.url].join(" ");
    setTimeout(() => response.end(answer), Math.random() * 20);
  });
});
afterAll(() => stand?.stop());

test("many agents that call at once each use their own session and get their own responses", async () => {
  const agents = await Promise.all(Array.from({ length: 16 }, () => headersOf(stand)));
  const works = agents.map(async (headers, agent) => {
    const session = headers["x-svc-session"];
    const { call, close } = callerOf(`${stand.enforcementPoint.url}/app`, headers);
    let answered = 0;
    for (let round = 0; round < 10; round++) {
      const paths = [1, 2, 3].map((n) => `/any/${agent}-${round}-${n}`);
      const responses = await Promise.all(paths.map((path) => call(path)));
      // On a busy machine some calls time out; every response must be the right one.
      const served = responses.map(({ status, body }) => (status === 200 ? String(body) : `${status}`));
      answered += served.filter((text) => text !== "503").length;
      expect(served).toEqual(served.map((text, at) => (text === "503" ? text : `${session} ${session} ${paths[at]}`)));
    }
    close();
    expect(answered).toBeGreaterThan(0);
    const arrivals = arrivalsOf(stand.upstream.requests, session);
    await expectEachRecorded(stand, session, arrivals);
    const spent = (await decisionsOf(stand, session)).filter(({ spent_at }) => spent_at !== null);
    expect(spent.length).toBeGreaterThanOrEqual(arrivals.length);
  });
  await Promise.all(works);
});

/** Every address of this machine but the agents' loopback address. */
const others = [
  "127.0.0.2",
  ...Object.values(networkInterfaces()).flatMap((interfaces = []) =>
    interfaces.filter(({ family, internal }) => family === "IPv4" && !internal).map(({ address }) => address),
  ),
];

test.each(others)("case 58: the agents' port is unreachable at the machine's other addresses (%s)", async (address) => {
  const outcome = await new Promise<string>((resolve) => {
    const socket = connect(stand.port, address);
    socket
      .once("connect", () => resolve("connected"))
      .once("error", (error: NodeJS.ErrnoException) => resolve(String(error.code)));
    socket.once("close", () => socket.destroy());
  });
  expect(outcome).toBe("ECONNREFUSED");
});
