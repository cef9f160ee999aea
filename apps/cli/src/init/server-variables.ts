import { readFile } from "node:fs/promises";
import { resolve } from "node:path";
import { notTried } from "../fault.ts";
import { shown } from "../output.ts";

/** Variables of a server over stdio, as the enforcement point's file takes them. */
export type ServerVariables = Readonly<Record<string, string | { readonly file: string }>>;

const form = "Write --env NAME=VARIABLE=@FILE, or NAME=VARIABLE=VALUE; NAME is a --stdio source.";
/** Of a variable whose value should stay out of files that are shared. */
const secret = /key|token|secret|passw|credential|auth/i;

/** What each `--env files=API_KEY=@/path` or `--env files=LOG_LEVEL=warn` sets, by source. @throws {Fault} without a value in it */
export function variablesBySource(
  texts: readonly string[],
  sources: readonly string[],
): ReadonlyMap<string, ServerVariables> {
  const found = new Map<string, ServerVariables>();
  for (const text of texts) {
    const [, source = "", variable = "", value = ""] = /^([^=]+)=([^=]+)=(.+)$/s.exec(text) ?? [];
    const named = shown([source || text.split("=")[0], variable].filter(Boolean).join("="));
    if (value === "" || value === "@") throw notTried(`--env ${named} sets no variable`, form);
    if (!sources.includes(source)) throw notTried(`--env ${named}: no --stdio source has this name`, form);
    if (!/^[A-Za-z_][A-Za-z0-9_]*$/.test(variable) || /^SVC_/i.test(variable)) {
      throw notTried(`--env ${named}: a server gets no variable of this name`, "Use letters, digits and _, not SVC_.");
    }
    if (!value.startsWith("@") && secret.test(variable)) {
      throw notTried(
        `--env ${named} would write what looks like a secret into the file`,
        `Put the value into a file that only you can read, and write --env ${named}=@FILE.`,
      );
    }
    const set = value.startsWith("@") ? { file: resolve(value.slice(1)) } : value;
    found.set(source, { ...found.get(source), [variable]: set });
  }
  return found;
}

/** The values themselves, read as the enforcement point reads them. @throws {Fault} */
export async function valuesOf(source: string, variables: ServerVariables): Promise<Record<string, string>> {
  const values = Object.entries(variables).map(async ([name, value]) => {
    if (typeof value === "string") return [name, value] as const;
    const text = await readFile(value.file, "utf8").catch((cause: NodeJS.ErrnoException) => {
      throw notTried(`--env ${source}=${name}: ${value.file} cannot be read (${cause.code})`, "Check the path.", cause);
    });
    return [name, text.replace(/\r?\n$/, "")] as const;
  });
  return Object.fromEntries(await Promise.all(values));
}
