import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, resolve } from "node:path";
import { pepEnvironment, pepSecretNames } from "@svc/host";
import { freePort, type RunningProgram, startProgram, untilReady } from "@svc/host/child-program";
import { Fault } from "../fault.ts";
import { secretSetting } from "../secret-setting.ts";

export interface PepFlags {
  readonly upstreams: string;
  readonly mode: "enforce" | "observe";
}

export interface LocalPepOptions {
  /** Settings that the operator's own override. */
  readonly defaults?: Readonly<Record<string, string>>;
  /** Default: a free one. */
  readonly port?: number;
  /** Terminates TLS of tunnels, and does this with calls to hosts that no upstream lists. Default: refuses tunnels. */
  readonly otherHosts?: "refuse" | "tunnel" | undefined;
  /** Called with each line that it writes. */
  readonly onLine?: (line: string) => void;
}

export type LocalPep = Awaited<ReturnType<typeof startLocalPep>>;

/**
 * An enforcement point on free loopback ports. @param session of calls without a token, in a file of mode 0600
 * @param signal ends the start; the promise then rejects with its reason
 */
export async function startLocalPep(
  controlPlaneUrl: string,
  session: object,
  { upstreams, mode }: PepFlags,
  signal: AbortSignal,
  { defaults = {}, onLine = () => {}, otherHosts, ...options }: LocalPepOptions = {},
) {
  signal.throwIfAborted();
  const folder = await mkdtemp(join(tmpdir(), "svc-run-"));
  let pep: RunningProgram | undefined;
  const stop = async () => {
    await pep?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  const privateFile = async (name: string, text: string) => {
    const file = join(folder, name);
    await writeFile(file, text, { mode: 0o600 });
    return file;
  };
  try {
    const sessionFile = await privateFile("session.json", JSON.stringify(session));
    const secretFiles: Record<string, string> = {};
    for (const name of pepSecretNames) {
      const secret = secretSetting(name);
      if (secret !== undefined) secretFiles[`${name}_FILE`] = await privateFile(name, secret);
    }
    const port = options.port ?? (await freePort());
    const adminPort = await freePort();
    const caFile = join(folder, "local-ca.pem");
    const adminUrl = `http://127.0.0.1:${adminPort}`;
    pep = startProgram({
      name: "enforcement point",
      url: import.meta.resolve("@svc/pep/main"),
      onLine,
      env: {
        SVC_DEV: "true",
        SVC_LOG_LEVEL: "error",
        ...defaults,
        ...pepEnvironment(process.env),
        SVC_PEP_GRACE_SECONDS: "0",
        SVC_CONTROL_PLANE_URL: controlPlaneUrl,
        SVC_PEP_CONFIG: resolve(upstreams),
        SVC_PEP_MODE: mode,
        SVC_PEP_SESSION_FILE: sessionFile,
        SVC_PEP_LISTEN: `127.0.0.1:${port}`,
        SVC_PEP_ADMIN_LISTEN: `127.0.0.1:${adminPort}`,
        ...(otherHosts && { SVC_PEP_TLS_CA_FILE: caFile, SVC_PEP_OTHER_HOSTS: otherHosts }),
        // Not by its value: the agent can read the environment of other processes.
        ...secretFiles,
      },
    });
    await Promise.race([started(pep, `${adminUrl}/__svc/readyz`), aborted(signal)]);
    for (const file of Object.values(secretFiles)) await rm(file);
    return { url: `http://127.0.0.1:${port}`, adminUrl, folder, caFile, stop };
  } catch (cause) {
    await stop();
    throw cause;
  }
}

const started = (pep: RunningProgram, readyUrl: string): Promise<void> =>
  untilReady(pep, readyUrl).catch((cause: Error) => {
    throw new Fault(cause.message, "See the lines above for the cause.");
  });

const aborted = (signal: AbortSignal): Promise<never> =>
  new Promise((_, reject) => {
    const end = () => reject(signal.reason);
    if (signal.aborted) end();
    signal.addEventListener("abort", end, { once: true });
  });
