import { once } from "node:events";
import { createServer as createPlainServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import { createServer as createTlsServer, type Server as TlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import type { Arrival, BearerClaims } from "../checker/evidence.ts";
import { meaningOf } from "./books.ts";

/** A server's certificate, and the authorities it trusts; PEM each. */
export interface TlsIdentity {
  readonly cert: string;
  readonly key: string;
  /** Trusted authorities of clients. */
  readonly ca: readonly string[];
}

/** A tool that returns 200 for every request and records it. */
export interface LoggingUpstream {
  readonly url: string;
  readonly arrivals: readonly Arrival[];
  /** For TLS: new connections use this one. */
  become(identity: TlsIdentity): void;
  stop(): Promise<void>;
}

/** @param identity for TLS with client certificates; plain HTTP without */
export async function startLoggingUpstream(identity?: TlsIdentity): Promise<LoggingUpstream> {
  const arrivals: Arrival[] = [];
  const server = createServer(identity, ({ url = "", headers }, response) => {
    // The call was made even if its body is cut.
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
  // Short-lived connections, so that handshakes meet every change.
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

// The verifier has its own tests for signatures: here only the claims are compared.
// biome-ignore lint/suspicious/noExplicitAny: the token's claims are compared with the records.
const claimsOf = (token: string): any =>
  JSON.parse(Buffer.from(token.split(".")[1] ?? "", "base64url").toString("utf8"));
