import { bindParams, decodeUnverifiedHopToken, type HopClaims } from "@svc/tokens";
import type { Arrival } from "./recording-upstream.ts";
import { meaningOf } from "./upstream-reading.ts";

/** Rules for every request that an upstream receives, whatever the enforcement point was sent. */

/** @returns one line for each violation */
export function faultsOf(arrival: Arrival, session: string): string[] {
  const token = narrowedToken(arrival);
  if (!token) return ["no narrowed token"];
  const meaning = meaningIn(arrival);
  return [
    token.aud === meaning ? undefined : `decided as ${token.aud}, and read as ${meaning}`,
    token.sessionId === session ? undefined : "another session's token",
    valuesOf(arrival, "x-svc-session").join() === session ? undefined : "not exactly its own session header",
    ...strays(arrival).map((name) => `${name} came through`),
    boundFault(arrival, token),
  ].filter((fault) => fault !== undefined);
}

/** Exactly one Authorization, of an exchanged token. */
export function narrowedToken(arrival: Arrival): HopClaims | undefined {
  const [authorization, ...more] = valuesOf(arrival, "authorization");
  if (authorization === undefined || more.length > 0) return undefined;
  const token = decodeUnverifiedHopToken(authorization.replace(/^Bearer /, ""));
  return token?.hop === 2 && !token.renewed ? token : undefined;
}

function meaningIn(arrival: Arrival): string | undefined {
  try {
    return meaningOf(arrival);
  } catch {
    return undefined;
  }
}

/** Each of our headers, in exactly this spelling, once. */
const expected = ["authorization", "x-svc-session", "txn-token"];
const notForAgents =
  /^(authorization|x-svc-.*|txn-token|agent-identity|forwarded|x-forwarded-.*|x-(http-)?method-override|x-original-url|proxy-.*)$/;

/** In any spelling that a server could normalize. */
function strays({ rawHeaders }: Arrival): string[] {
  const left = [...expected];
  return rawHeaders.filter((name, at) => {
    if (at % 2 === 1) return false;
    const [ours] = left.splice(left.indexOf(name) === -1 ? left.length : left.indexOf(name), 1);
    return ours === undefined && notForAgents.test(name.toLowerCase().replaceAll("_", "-"));
  });
}

const valuesOf = ({ rawHeaders }: Arrival, name: string): string[] =>
  rawHeaders.filter((_, at) => at % 2 === 1 && rawHeaders[at - 1]?.toLowerCase() === name);

/** A privileged call has a transaction token for its exact body, and no other call has one. */
function boundFault(arrival: Arrival, { privileged }: HopClaims): string | undefined {
  const [transaction] = valuesOf(arrival, "txn-token");
  if (!privileged) return transaction === undefined ? undefined : "a transaction token on an unprivileged call";
  const binding = bindParams(arrival.body);
  const claims = JSON.parse(Buffer.from(transaction?.split(".")[1] ?? "", "base64url").toString() || "{}");
  return binding.ok && claims.tctx?.params_hash === binding.paramsHash ? undefined : "not bound to its body";
}
