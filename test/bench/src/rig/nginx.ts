import type { RunningServer } from "./node-server.ts";
import { startProgram } from "./program.ts";

/** A JSON body that nginx sends with each decision request, since its own subrequests have none. */
export interface AuthRequest {
  readonly url: string;
  readonly body: string;
}

/** One worker per core, as Debian configures it, without logs. */
export const startNginx = (path: string, upstream: string, auth?: AuthRequest): Promise<RunningServer> =>
  startProgram({
    path,
    args: (folder) => ["-p", folder, "-c", "nginx.conf", "-e", "stderr"],
    files: (port, folder) => ({ "nginx.conf": configuration(port, folder, upstream, auth) }),
    readyPath: "/read",
  });

const configuration = (port: number, folder: string, upstream: string, auth: AuthRequest | undefined): string => `\
daemon off;
worker_processes auto;
pid ${folder}/nginx.pid;
user root;
error_log stderr error;
events { worker_connections 2048; }
http {
  access_log off;
  client_body_temp_path ${folder}/body;
  proxy_temp_path ${folder}/proxy;
  proxy_max_temp_file_size 0;
  client_max_body_size 0;
  keepalive_requests 1000000000;
  upstream tool { server ${new URL(upstream).host}; keepalive 256; keepalive_requests 1000000000; }
  ${auth === undefined ? "" : `upstream pdp { server ${new URL(auth.url).host}; keepalive 256; keepalive_requests 1000000000; }`}
  server {
    listen 127.0.0.1:${port} backlog=1024;
    location / {
      ${auth === undefined ? "" : "auth_request /decide;"}
      proxy_pass http://tool;
      proxy_http_version 1.1;
      proxy_set_header Connection "";
      proxy_request_buffering off;
    }
    ${auth === undefined ? "" : decides(auth)}
  }
}
`;

const decides = ({ url, body }: AuthRequest): string => `\
location = /decide {
      internal;
      proxy_pass http://pdp${new URL(url).pathname};
      proxy_method POST;
      proxy_http_version 1.1;
      proxy_pass_request_body off;
      proxy_set_header Connection "";
      proxy_set_header Content-Type application/json;
      proxy_set_header Authorization "";
      proxy_set_body '${body}';
    }`;
