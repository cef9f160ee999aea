import { once } from "node:events";
import { createServer as createPlainServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Arrival, BearerClaims } from "../checker/evidence.ts";
import { meaningOf } from "./books.ts";

/** What a server shows, and whom it believes; PEM each. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
  /** Authorities of clients. */
  readonly ca: readonly string[];
}

/** A tool that answers everything and keeps what it was sent. */
export interface LoggingUpstream {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** Of TLS: new connections meet this one. */
  become(identity: TlsIdentity): void;
  stop(): Promise<void>;
}

/** @param identity of TLS, and only for clients that it believes; plain HTTP without */
export async function startLoggingUpstream(identity?: TlsIdentity): Promise<LoggingUpstream> {
  const arrivals: Arrival[] = [];
  const server = createServer(identity, ({ url = "", headers }, response) => {
    // Whatever becomes of the rest of it, the call was made.
    arrivals.push({ ...meaningOf(url), bearer: bearerOf(headers), transactionOf: transactionOf(headers) });
    response.end("done");
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return {
    url: `${identity === undefined ? "http" : "https"}://127.0.0.1:${(server.address() as AddressInfo).port}`,
    arrivals,
    become: (next) => (server as TlsServer).setSecureContext(contextOf(next)),
    async stop() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

function createServer(identity: TlsIdentity | undefined, listener: RequestListener) {
  if (identity === undefined) return createPlainServer(listener);
  const server = createTlsServer({ ...contextOf(identity), requestCert: true }, listener);
  // So that there are handshakes all the time, and every change is met.
  server.maxRequestsPerSocket = 3;
  return server;
}

const contextOf = ({ cert, key, ca }: TlsIdentity) => ({ cert, key, ca: [...ca] });

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
