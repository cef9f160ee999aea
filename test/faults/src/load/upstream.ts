import { once } from "node:events";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import type { Arrival, BearerClaims } from "../checker/evidence.ts";
import { meaningOf } from "./books.ts";

/** A tool that answers everything and keeps what it was sent. */
export interface LoggingUpstream {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  stop(): Promise<void>;
}

export async function startLoggingUpstream(): Promise<LoggingUpstream> {
  const arrivals: Arrival[] = [];
  const server = createServer(({ url = "", headers }, response) => {
    // Whatever becomes of the rest of it, the call was made.
    arrivals.push({ ...meaningOf(url), bearer: bearerOf(headers), transactionOf: transactionOf(headers) });
    response.end("done");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function bearerOf({ authorization }: IncomingHttpHeaders): BearerClaims | null {
  if (authorization === undefined) return null;
  const { jti, action_id, sid, aud, scope } = claimsOf(authorization.replace("Bearer ", ""));
  return { jti, actionId: action_id, sessionId: sid, target: aud, dataClass: scope };
}

function transactionOf(headers: IncomingHttpHeaders): string | null {
  const token = headers["txn-token"];
  return typeof token === "string" ? claimsOf(token).txn : null;
}

// The signature is the verifier's to check, which has tests of its own: here it is only asked what was let through.
// biome-ignore lint/suspicious/noExplicitAny: whatever the token holds is compared with the records.
const claimsOf = (token: string): any =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
