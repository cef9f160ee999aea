import { readFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { type Suggestions, suggestions } from "@svc/core";
import { notTried } from "../fault.ts";
import { runEnforcementPoint } from "./run-enforcement-point.ts";

interface Sources {
  readonly pep?: string;
  readonly upstreams?: string;
}

/** @param list a file, or `-` for standard input; without it, the list of the enforcement point @throws {Fault} */
export async function readSuggestions(list: string | undefined, { pep, upstreams }: Sources): Promise<Suggestions> {
  const json =
    list === undefined ? await fetchList(pep ?? adminUrl(process.env.SVC_PEP_ADMIN_LISTEN)) : await saved(list);
  const args = ["--suggest", ...(upstreams === undefined ? [] : [upstreams])];
  const stdout = await runEnforcementPoint(args, "Correct the list or the upstreams file that it names.", json);
  return suggestions.parse(JSON.parse(stdout));
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
