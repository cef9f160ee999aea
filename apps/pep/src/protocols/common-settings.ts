import { isUnambiguousPath, ruleList } from "@svc/classify";
import { agentName, dataClass, dataClassList, targetKinds, toolRef } from "@svc/core";
import { z } from "zod";
import { normalAuthority } from "../message/authority.ts";
import { pepModes } from "../modes.ts";
import type { CallTarget } from "./protocol.ts";

/** Fills `member` in before a union picks by it, so that an entry's faults are those of its own kind. */
export const withDefault =
  (member: string, value: unknown) =>
  (entry: unknown): unknown =>
    typeof entry === "object" && entry !== null && !(member in entry) ? { ...entry, [member]: value } : entry;

/** A tool, or an agent that is delegated to. */
export const routeTarget = {
  target: z.string().describe("The ref of the tool, as the manifest declares it; of an agent its name."),
  target_kind: z.enum(targetKinds).default("tool").describe("A tool, or an agent that is delegated to."),
  data_class: dataClassList.describe("The data class of the call; of an agent several, separated by single spaces."),
};
type RouteTarget = z.output<z.ZodObject<typeof routeTarget>>;

/** The same with a data class that may depend on the call's arguments. */
export const classifiedTarget = {
  ...routeTarget,
  data_class: dataClassList.optional().describe("The data class of every call for which no rule of `classify` holds."),
  classify: ruleList.optional().describe("Rules: the first that holds gives the data class, by the call's arguments."),
};
export type ClassifiedRoute = z.output<z.ZodObject<typeof classifiedTarget>>;

export function fitsItsKind({ target, target_kind, data_class, classify }: ClassifiedRoute): boolean {
  if (target_kind === "agent") {
    return agentName.safeParse(target).success && classify === undefined && data_class !== undefined;
  }
  const hasClass = data_class === undefined ? classify !== undefined : dataClass.safeParse(data_class).success;
  return toolRef.safeParse(target).success && hasClass;
}
export const kindMessage =
  "target must be a tool reference with one data class or classify, or with target_kind: agent an agent's name with data classes";

export const toCall = ({ target, target_kind: targetKind, data_class: dataClass }: RouteTarget): CallTarget => ({
  target,
  targetKind,
  dataClass,
});

/** One decision for a host, for tunnels to it. */
export const connectRoute = z
  .strictObject({ connect: z.literal(true).describe("This route is for `CONNECT`, not for a path."), ...routeTarget })
  .refine(fitsItsKind, kindMessage);

const headerName = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const filePath = z.string().min(1);

const credential = z.union([
  z.enum(["hop_token", "none", "passthrough"]),
  z.strictObject({
    header: z.string().regex(headerName, "must be a header name").describe("The header's name."),
    value_file: filePath.describe("A file with its value, one line. The agent never holds it."),
  }),
]);

const tls = z
  .strictObject({
    ca_file: filePath.optional().describe("Authorities in PEM, in place of the system's."),
    cert_file: filePath.optional().describe("The client's certificate in PEM, for mutual TLS; with `key_file`."),
    key_file: filePath.optional().describe("Its private key in PEM."),
  })
  .refine((files) => (files.cert_file === undefined) === (files.key_file === undefined), {
    message: "cert_file and key_file go together",
  });

const url = z.string().refine((text) => {
  const parsed = URL.parse(text);
  return (
    parsed !== null &&
    /^https?:$/.test(parsed.protocol) &&
    `${parsed.username}${parsed.password}${parsed.search}${parsed.hash}` === "" &&
    isUnambiguousPath(parsed.pathname)
  );
}, "must be an http or https URL with an unambiguous path, without credentials, query or fragment");

const host = z
  .string()
  .refine((text) => normalAuthority(text) !== undefined, "must be a host name with an optional port");

/** RFC 6749 section 3.3: what a challenge and a client can name. */
const oauthScope = z
  .string()
  .max(255)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, "must be a scope of visible ASCII without blanks, quotes and backslashes");

const oauth = z.strictObject({
  scope: z
    .union([
      oauthScope,
      z
        .array(oauthScope)
        .min(1)
        .refine((scopes) => new Set(scopes).size === scopes.length, "must name each scope once"),
    ])
    .describe("The scope that a person consents to; of several the first is the session's, each other one beside it."),
});

/** The settings of every upstream, of any protocol (docs/reference/enforcement-point.md#finding-the-target). */
export const commonSettings = {
  name: z
    .string()
    .regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be 1-63 of letters, digits, . _ -")
    .describe("The first path segment at the enforcement point; of an MCP server also its name in refs."),
  url: url.describe("The server's address."),
  hosts: z.array(host).default([]).describe("Hosts by which proxied and redirected calls name the upstream."),
  mode: z.enum(pepModes).optional().describe("Overrides `SVC_PEP_MODE`. `observe` blocks nothing."),
  tls: tls.default({}).describe("Files for TLS to the server."),
  credential: credential
    .default("hop_token")
    .describe(
      "What the server gets as a credential: the hop token, nothing, the agent's own `Authorization` (`passthrough`), or a header of its own.",
    ),
  allow_passthrough_when_enforcing: z
    .boolean()
    .default(false)
    .describe("`credential: passthrough` is refused while enforcing, unless this is true."),
  oauth: oauth
    .optional()
    .describe(
      "Clients log in by themselves (RFC 9728): needs `SVC_PEP_PUBLIC_URL` and `SVC_PEP_ENFORCEMENT_TOKEN`. Without it they bring a hop token.",
    ),
};
