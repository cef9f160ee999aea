import { randomUUID } from "node:crypto";
import { decodeUnverifiedHopToken, type HopClaims, issueHopToken } from "@svc/tokens";
import { request } from "undici";
import { Answered, untilAvailable } from "./admin.ts";
import { type AgentLine, type Credential, delegate } from "./agents.ts";
import type { Stack } from "./stack.ts";

/** Agents in their own sessions, whose tokens are renewed on demand. */
export interface LiveAgents {
  /** Their current tokens. */
  current(): Promise<readonly Credential[]>;
}

/** The enforcement point drops an agent's renewed tokens after five minutes without a call. */
const idleMs = 200_000;
const lifetimeSeconds = 3_600;
const openedAtOnce = 8;

/**
 * One for each connection, so that no two share a session. An agent that paused for minutes between two samples would
 * need a new token: the bench signs one like its first.
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

/** The first call of an agent renews its tokens; so many first calls at once are not measured. */
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
