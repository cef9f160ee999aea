import { get as getHttp, type IncomingMessage } from "node:http";
import { get as getHttps } from "node:https";
import type { Program } from "./tree.ts";

/** The HEALTHCHECK of images without curl: `node healthcheck.js PROGRAM` exits 0 where the program is ready. */

interface Listener {
  readonly isTls: boolean;
  readonly host: string | undefined;
  readonly port: string;
  readonly path: string;
}

/** From the program's own settings, so that a changed port needs no change here. */
const listenerOf: Record<Exclude<Program, "cli">, (env: NodeJS.ProcessEnv) => Listener> = {
  "control-plane": (env) => ({
    isTls: Boolean(env.SVC_TLS_CERT_FILE),
    host: env.HOST,
    port: env.PORT || "8080",
    path: "/readyz",
  }),
  pep: (env) => {
    const [, host, port] = /^\[?(.*?)\]?:(\d+)$/.exec(env.SVC_PEP_ADMIN_LISTEN ?? "") ?? [];
    return { isTls: false, host, port: port ?? "16020", path: "/__svc/readyz" };
  },
  examples: (env) => ({ isTls: false, host: env.HOST, port: env.PORT ?? "", path: "/livez" }),
  injector: (env) => ({ isTls: true, host: env.HOST, port: env.PORT || "8443", path: "/readyz" }),
};

const timeoutMs = 2_000;

function statusOf({ isTls, host, port, path }: Listener): Promise<number> {
  const address = { host: reachable(host), port, path, timeout: timeoutMs };
  return new Promise((resolve, reject) => {
    const respond = ({ statusCode }: IncomingMessage) => resolve(statusCode ?? 0);
    // The certificate names the service, not this host; nothing secret is sent or read.
    const request = isTls ? getHttps({ ...address, rejectUnauthorized: false }, respond) : getHttp(address, respond);
    request.on("timeout", () => request.destroy(new Error(`no response in ${timeoutMs} ms`)));
    request.on("error", reject);
  });
}

/** A wildcard address includes loopback. */
const reachable = (host: string | undefined): string =>
  host === undefined || host === "" || host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host;

function end(code: 0 | 1 | 2, line?: string): never {
  if (line !== undefined) process.stderr.write(`${line}\n`);
  process.exit(code);
}

const [program = ""] = process.argv.slice(2);
if (!Object.hasOwn(listenerOf, program)) {
  end(2, `usage: node healthcheck.js ${Object.keys(listenerOf).join(" | ")}`);
}
try {
  const status = await statusOf(listenerOf[program as keyof typeof listenerOf](process.env));
  if (status === 200) end(0);
  end(1, `${program} is not ready: ${status}`);
} catch (error) {
  end(1, `${program} does not respond: ${error instanceof Error ? error.message : "unknown cause"}`);
}
