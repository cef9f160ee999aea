import { readFileSync } from "node:fs";
import { parse } from "yaml";
import { z } from "zod";
import { normalAuthority } from "../message/authority.ts";
import type { PepMode } from "../modes.ts";
import { toCall, withDefault } from "../protocols/common-settings.ts";
import { protectedResourceOf } from "../protocols/protected-resource.ts";
import { defaultProtocol, protocolOf, type UpstreamEntry, upstreamEntry } from "../protocols/protocols.ts";
import { stdioServerOf, stdioUrl } from "../stdio/settings.ts";
import { type Credential, type Upstream, type Upstreams, type UpstreamTls, upstreamsOf } from "./upstream.ts";

/** The file that `SVC_PEP_CONFIG` names (docs/reference/enforcement-point.md#upstreams-file). */
export const upstreamsFile = z.strictObject({
  upstreams: z
    .array(z.preprocess(withDefault("protocol", defaultProtocol), upstreamEntry))
    .describe("The servers behind the enforcement point."),
});

/** The members that `withDefault` fills in. */
const impliedConsts: Readonly<Record<string, unknown>> = { protocol: defaultProtocol, connect: false };

/** The JSON Schema of the file before defaults are filled in, for editors. It cannot state every rule. */
export const upstreamsSchema = (): object =>
  z.toJSONSchema(upstreamsFile, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    override({ jsonSchema }) {
      const { required, properties = {} } = jsonSchema;
      if (required === undefined) return;
      jsonSchema.required = required.filter((name) => {
        const member = properties[name];
        const isImplied = typeof member === "object" && name in impliedConsts && member.const === impliedConsts[name];
        return !isImplied;
      });
    },
  });

export interface ReadUpstreamsOptions {
  /** Of an upstream that names none. */
  readonly defaultMode: PepMode;
  /** Where clients reach the enforcement point: `SVC_PEP_PUBLIC_URL`. Undefined: no upstream may have `oauth`. */
  readonly publicUrl?: URL | undefined;
  /** Reads a file that the configuration names. Default: from the file system. */
  readonly readFile?: (path: string) => string;
  /** Why this material cannot be used. Default: not checked. */
  readonly tlsFault?: (tls: UpstreamTls) => string | undefined;
}

export type UpstreamsResult =
  /** `files`: every file that was read along with the text. */
  | { readonly ok: true; readonly upstreams: Upstreams; readonly files: readonly string[] }
  /** One line per fault. */
  | { readonly ok: false; readonly faults: readonly string[]; readonly files: readonly string[] };

/** Reads one YAML or JSON text. A single fault refuses all of it. */
export function readUpstreams(text: string, options: ReadUpstreamsOptions): UpstreamsResult {
  const { readFile = (path) => readFileSync(path, "utf8") } = options;
  const document = parsed(text);
  if ("fault" in document) return { ok: false, faults: [document.fault], files: [] };
  const read = upstreamsFile.safeParse(document.value);
  if (!read.success) return { ok: false, faults: read.error.issues.map(issueLine), files: [] };
  const files: string[] = [];
  const faults = faultsBetween(read.data.upstreams, options.defaultMode);
  faults.push(...oauthFaults(read.data.upstreams, options.publicUrl));
  const fileOf = (upstream: string, path: string): string => {
    files.push(path);
    try {
      return readFile(path);
    } catch {
      faults.push(`upstream ${upstream}: ${path} cannot be read`);
      return "";
    }
  };
  const all = read.data.upstreams.map((entry) => toUpstream(entry, options, fileOf));
  faults.push(...all.flatMap(secretFaults), ...all.flatMap((upstream) => tlsFaults(upstream, options.tlsFault)));
  return faults.length > 0 ? { ok: false, faults, files } : { ok: true, upstreams: upstreamsOf(all), files };
}

function parsed(text: string): { value: unknown } | { fault: string } {
  try {
    return { value: parse(text, { version: "1.2", uniqueKeys: true }) };
  } catch {
    return { fault: "is neither YAML nor JSON" };
  }
}

const issueLine = ({ path, message }: z.core.$ZodIssue): string =>
  path.length === 0 ? message : `${path.map(String).join(".")}: ${message}`;

/** Faults that no single entry shows. */
function faultsBetween(entries: readonly UpstreamEntry[], defaultMode: PepMode): string[] {
  const faults: string[] = [];
  const seen = new Set<string>();
  const claim = (what: string) => {
    if (seen.has(what)) faults.push(`${what} is listed twice`);
    seen.add(what);
  };
  for (const entry of entries) {
    claim(`upstream ${entry.name}`);
    for (const host of new Set(entry.hosts.map(normalAuthority))) claim(`host ${host}`);
    if (entry.routes.filter(({ connect }) => connect).length > 1) {
      faults.push(`upstream ${entry.name}: has more than one connect route`);
    }
    const enforcing = (entry.mode ?? defaultMode) === "enforce";
    if (entry.credential === "passthrough" && enforcing && !entry.allow_passthrough_when_enforcing) {
      faults.push(
        `upstream ${entry.name}: credential passthrough while enforcing needs allow_passthrough_when_enforcing: true`,
      );
    }
  }
  return faults;
}

type ReadNamedFile = (upstream: string, path: string) => string;

/** A client would be asked to log in, and could not. */
export const oauthFaults = (entries: readonly UpstreamEntry[], publicUrl: URL | undefined): string[] =>
  publicUrl !== undefined
    ? []
    : entries.flatMap(({ name, oauth }) =>
        oauth === undefined
          ? []
          : [`upstream ${name}: oauth needs SVC_PEP_PUBLIC_URL and SVC_PEP_ENFORCEMENT_TOKEN, which are not set`],
      );

function toUpstream(
  entry: UpstreamEntry,
  { defaultMode, publicUrl }: ReadUpstreamsOptions,
  fileOf: ReadNamedFile,
): Upstream {
  const url = new URL(entry.url ?? stdioUrl);
  return {
    name: entry.name,
    origin: url.origin,
    host: url.host,
    hosts: [...new Set(entry.hosts.flatMap((host) => normalAuthority(host) ?? []))],
    mode: entry.mode ?? defaultMode,
    credential: toCredential(entry, fileOf),
    tls: toTls(entry, fileOf),
    stdio: "command" in entry ? stdioServerOf(entry, (path) => fileOf(entry.name, path)) : undefined,
    tunnel: entry.routes.flatMap((route) => (route.connect ? toCall(route) : []))[0],
    protocol: protocolOf(entry),
    resource: protectedResourceOf(entry, publicUrl),
  };
}

function toCredential({ name, url, credential }: UpstreamEntry, fileOf: ReadNamedFile): Credential {
  if (url === undefined) return { kind: "session" };
  if (typeof credential === "string") return { kind: credential };
  const value = fileOf(name, credential.value_file).replace(/\r?\n$/, "");
  return { kind: "header", name: credential.header.toLowerCase(), value };
}

function toTls({ name, tls }: UpstreamEntry, fileOf: ReadNamedFile): UpstreamTls {
  const text = (file: string | undefined) => (file === undefined ? undefined : fileOf(name, file));
  return { ca: text(tls.ca_file), cert: text(tls.cert_file), key: text(tls.key_file) };
}

/** Any other value would fail every call, or end its header early. */
const secretFaults = ({ name, credential }: Upstream): string[] =>
  credential.kind === "header" && !/^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/.test(credential.value)
    ? [`upstream ${name}: value_file must hold one line of visible ASCII`]
    : [];

/** While a certificate is replaced and its key is not yet, the configuration before stays. */
function tlsFaults({ name, tls }: Upstream, tlsFault: ReadUpstreamsOptions["tlsFault"]): string[] {
  const fault = tlsFault?.(tls);
  return fault === undefined ? [] : [`upstream ${name}: ${fault}`];
}
