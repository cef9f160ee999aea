import { spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type Suggestions, suggestions } from "@svc/core";
import { withoutSettings } from "@svc/host";
import { commandLineOf } from "@svc/host/child-program";
import { notTried } from "../fault.ts";

interface Sources {
  readonly pep?: string;
  readonly upstreams?: string;
}

/** @param list a file, or `-` for standard input; without it, the list of the enforcement point @throws {Fault} */
export async function readSuggestions(list: string | undefined, { pep, upstreams }: Sources): Promise<Suggestions> {
  const json =
    list === undefined ? await fetchList(pep ?? adminUrl(process.env.SVC_PEP_ADMIN_LISTEN)) : await saved(list);
  return suggestions.parse(JSON.parse(await suggest(json, upstreams)));
}

function saved(list: string): Promise<string> {
  if (list === "-") return text(process.stdin);
  return readFile(list, "utf8").catch((cause: unknown) => {
    throw notTried(`${list} cannot be read`, "Check the path.", cause);
  });
}

/** The list of an enforcement point's admin port, as text. @throws {Fault} */
export async function fetchList(pep: string): Promise<string> {
  const url = `${pep.replace(/\/+$/, "")}/__svc/unlisted`;
  const advice = "Check --pep: it names the admin port of an enforcement point, not its proxy port.";
  const response = await fetch(url, { redirect: "manual", signal: AbortSignal.timeout(10_000) }).catch(
    (cause: unknown) => {
      throw notTried(`${url} cannot be reached`, advice, cause);
    },
  );
  if (response.status !== 200) throw notTried(`${url} answers ${response.status}`, advice);
  return response.text();
}

/** Of `SVC_PEP_ADMIN_LISTEN`: the address of every interface is reached by loopback. */
function adminUrl(listen = "127.0.0.1:16020"): string {
  const everywhere = /^(?:0\.0\.0\.0|\[::\]|\*)?(?=:\d+$)/;
  return `http://${listen.replace(everywhere, "127.0.0.1")}`;
}

/** Only the enforcement point reads its file and its routes. */
async function suggest(json: string, upstreams: string | undefined): Promise<string> {
  const args = ["--suggest", ...(upstreams === undefined ? [] : [upstreams])];
  const child = spawn(process.execPath, commandLineOf(import.meta.resolve("@svc/pep/main"), args), {
    env: withoutSettings(process.env),
    stdio: ["pipe", "pipe", "pipe", "ipc"],
  });
  child.stdin?.on("error", () => {}).end(json);
  const read = (stream: NodeJS.ReadableStream | null) => (stream ? text(stream) : "");
  const [stdout, stderr, [code]] = await Promise.all([read(child.stdout), read(child.stderr), once(child, "exit")]);
  if (code !== 0) throw notTried(stderr.trim(), "Correct the list or the upstreams file that it names.");
  return stdout;
}
