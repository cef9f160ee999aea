import { dataClass } from "@svc/core";
import { notTried } from "../fault.ts";
import { type ServerVariables, variablesBySource } from "./server-variables.ts";

/** Something that an agent calls, as it is named on the command line. */
export type Source =
  | { readonly kind: "mcp"; readonly name: string; readonly url: string }
  | {
      readonly kind: "stdio";
      readonly name: string;
      readonly command: readonly string[];
      readonly env: ServerVariables;
    }
  /** `place`: a file or a URL. `url`: the API's base address, where the document has none. */
  | { readonly kind: "openapi"; readonly name: string; readonly place: string; readonly url: string | undefined }
  | { readonly kind: "http"; readonly name: string; readonly url: string };

export const sourceKinds = ["mcp", "stdio", "openapi", "http"] as const;
export type SourceKind = (typeof sourceKinds)[number];

/** Each a list of `name=value`; `env` of `name=VARIABLE=value`. */
export type SourceFlags = { readonly [Kind in SourceKind | "env"]?: readonly string[] };

const forms: Readonly<Record<SourceKind, string>> = {
  mcp: "--mcp NAME=URL",
  stdio: '--stdio NAME="COMMAND"',
  openapi: "--openapi NAME=FILE",
  http: "--http NAME=URL",
};

/** Every source that the flags name. An OpenAPI document's base address may be given by `--http` of the same name. */
export async function sourcesOf(flags: SourceFlags): Promise<readonly Source[]> {
  const given = sourceKinds.flatMap((kind) => (flags[kind] ?? []).map((text) => ({ kind, ...split(kind, text) })));
  const described = new Set(given.flatMap(({ kind, name }) => (kind === "openapi" ? [name] : [])));
  const bases = new Map(
    given.flatMap(({ kind, name, value }) => (kind === "http" && described.has(name) ? [[name, value]] : [])),
  );
  const sources = given.filter(({ kind, name }) => kind !== "http" || !described.has(name));
  refuseRepeats(sources);
  refuseRepeats(given.filter(({ kind }) => kind === "http"));
  const started = sources.flatMap(({ kind, name }) => (kind === "stdio" ? [name] : []));
  const variables = variablesBySource(flags.env ?? [], started);
  return Promise.all(
    sources.map(({ kind, name, value }) =>
      sourceOf(kind, name, value, { base: bases.get(name), env: variables.get(name) }),
    ),
  );
}

export interface SourceDetails {
  /** An OpenAPI document's base address. */
  readonly base?: string | undefined;
  readonly env?: ServerVariables | undefined;
}

/** @throws {Fault} for a value that its kind cannot have */
export async function sourceOf(
  kind: SourceKind,
  name: string,
  value: string,
  { base, env = {} }: SourceDetails = {},
): Promise<Source> {
  switch (kind) {
    case "mcp":
    case "http":
      return { kind, name, url: httpUrl(name, value) };
    case "stdio":
      return { kind, name, command: await words(name, value), env };
    case "openapi":
      return { kind, name, place: value, url: base === undefined ? undefined : httpUrl(name, base) };
    default:
      return kind satisfies never;
  }
}

function split(kind: SourceKind, text: string): { readonly name: string; readonly value: string } {
  const at = text.indexOf("=");
  const [name, value] = [text.slice(0, Math.max(at, 0)), text.slice(at + 1)];
  if (at < 0 || value === "") throw notTried(`--${kind} ${text} names no source`, `Write ${forms[kind]}.`);
  const fault = nameFault(name);
  if (fault !== undefined) throw notTried(`--${kind} ${text}: ${fault}`, `Write ${forms[kind]}, such as files=....`);
  return { name, value };
}

/** Why a name cannot be the first part of refs, the name of an upstream and of its data classes. */
export const nameFault = (name: string): string | undefined =>
  /^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/.test(name) && dataClass.safeParse(`${name}.reads`).success
    ? undefined
    : "a name has 1-63 letters, digits, . _ -, begins with a letter or digit, and has no empty part between dots";

function refuseRepeats(sources: readonly { readonly name: string }[]): void {
  const seen = new Set<string>();
  for (const { name } of sources) {
    if (seen.has(name)) throw notTried(`${name} names two sources`, "Give each server a name of its own.");
    seen.add(name);
  }
}

function httpUrl(name: string, text: string): string {
  const url = URL.parse(text);
  const isPlain = url !== null && /^https?:$/.test(url.protocol) && `${url.username}${url.password}${url.hash}` === "";
  if (isPlain && url.search === "") return url.href;
  throw notTried(
    `${name}: ${isPlain ? url.origin + url.pathname : "this"} is no address of a server`,
    "Write an http or https URL, without credentials, query or fragment.",
  );
}

async function words(name: string, command: string): Promise<readonly string[]> {
  const { parseArgsStringToArgv } = await import("string-argv");
  const found = parseArgsStringToArgv(command);
  if (found.length > 0) return found;
  throw notTried(`${name}: the command is empty`, `Write ${forms.stdio}.`);
}
