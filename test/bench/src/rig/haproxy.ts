import type { RunningServer } from "./node-server.ts";
import { startProgram } from "./program.ts";

/** One thread that verifies an ES256 bearer and responds, without an upstream. */
export const startHaproxy = (path: string, publicKeyPem: string): Promise<RunningServer> =>
  startProgram({
    path,
    args: () => ["-db", "-f", "haproxy.cfg"],
    files: (port, folder) => ({
      "issuer.pem": publicKeyPem,
      "haproxy.cfg": configuration(port, `${folder}/issuer.pem`),
    }),
    readyPath: "/ready",
  });

const configuration = (port: number, keyFile: string): string => `\
global
  nbthread 1
  maxconn 2000
  tune.bufsize 32768
defaults
  mode http
  timeout client 60s
  timeout server 60s
  timeout connect 5s
frontend admitted
  bind 127.0.0.1:${port}
  http-request return status 200 if { path /ready }
  http-request set-var(txn.bearer) http_auth_bearer
  http-request set-var(txn.alg) var(txn.bearer),jwt_header_query('$.alg')
  http-request deny deny_status 401 unless { var(txn.alg) -m str ES256 }
  http-request deny deny_status 401 unless { var(txn.bearer),jwt_verify(txn.alg,"${keyFile}") -m int 1 }
  http-request return status 200 content-type application/json string '{}'
`;
