import { randomUUID } from "node:crypto";
import { decodeUnverifiedHopToken, type HopClaims, issueHopToken } from "@svc/tokens";
import { request } from "undici";
import { Answered, untilAvailable } from "./admin.ts";
import { type AgentLine, type Credential, delegate } from "./agents.ts";
import type { Stack } from "./stack.ts";

/** Agents that act for sessions of their own, whenever they are asked to. */
export interface LiveAgents {
  /** Their tokens as they present them now. */
  current(): Promise<readonly Credential[]>;
}

/** The enforcement point forgets an agent's renewed tokens after five minutes without a call. */
const idleMs = 200_000;
const lifetimeSeconds = 3_600;
const openedAtOnce = 8;

/**
 * As many as there are connections, so that no two share a session. An agent that paused for minutes between two samples would
 * have to be given a token anew: it is signed one like that which it was given.
 */
export async function liveAgents(stack: Stack, line: AgentLine, chain: number, count: number): Promise<LiveAgents> {
  let credentials: readonly Credential[] = [];
  for (let made = 0; made < count; made++) {
    credentials = [...credentials, await untilAvailable(() => delegate(stack.controlPlane.url, line, chain))];
  }
  const renew = async () => {
    credentials = await Promise.all(credentials.map((credential) => signAnew(stack, credential)));
    for (let first = 0; first < count; first += openedAtOnce) {
      await Promise.all(
        credentials.slice(first, first + openedAtOnce).map((credential) => callOnce(stack, credential)),
      );
    }
  };
  let usedMs = Number.NEGATIVE_INFINITY;
  return {
    async current() {
      const now = performance.now();
      if (now - usedMs > idleMs) await renew();
      usedMs = now;
      return credentials;
    },
  };
}

/** The first call of an agent has its tokens renewed; that so many agents come at the same moment is not what is measured. */
const callOnce = ({ pep }: Stack, { sessionId, token }: Credential): Promise<void> =>
  untilAvailable(async () => {
    const url = `${pep.url}/bench/read`;
    const headers = { authorization: `Bearer ${token}`, "x-svc-session": sessionId };
    const { statusCode, body } = await request(url, { headers });
    const text = await body.text();
    if (statusCode !== 200) throw new Answered(url, statusCode, text);
  });

async function signAnew({ key }: Stack, { sessionId, token }: Credential): Promise<Credential> {
  const claims = decodeUnverifiedHopToken(token);
  if (claims === undefined) throw new Error("an agent was given no hop token");
  const nowSeconds = Math.floor(Date.now() / 1000);
  const anew: HopClaims = { ...claims, jti: randomUUID(), iat: nowSeconds, exp: nowSeconds + lifetimeSeconds };
  return { sessionId, token: await issueHopToken(key, anew) };
}
