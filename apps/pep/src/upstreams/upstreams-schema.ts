import { agentName, dataClass, dataClassList, targetKinds, toolRef } from "@svc/core";
import { z } from "zod";
import { normalAuthority } from "../message/authority.ts";
import { isUnambiguousPath, segmentsOf } from "../message/path.ts";
import { pepModes } from "./upstream.ts";

/** The file that `SVC_PEP_CONFIG` names, as written (contract: How a call finds its target). */

const token = /^[!#$%&'*+.^_`|~0-9A-Za-z-]+$/;
const method = z.string().regex(/^[A-Z][A-Z-]*$/, "must be an HTTP method in capitals");
const path = z.string().min(1);

const routePath = z.string().refine((text) => {
  const segments = segmentsOf(text);
  const isSegment = (segment: string, index: number) =>
    segment === "*" ? index === segments.length - 1 : /^:[A-Za-z_]\w*$/.test(segment) || /^[^:*]*$/.test(segment);
  return isUnambiguousPath(text) && segments.every(isSegment);
}, "must be an unambiguous path of literal segments, :name segments and at most a final *");

/** So that the fault of an entry is told by its own kind, and not as the misfit of every kind. */
const withDefault =
  (member: string, value: unknown) =>
  (entry: unknown): unknown =>
    typeof entry === "object" && entry !== null && !(member in entry) ? { ...entry, [member]: value } : entry;

/** A tool, or an agent that is delegated to. */
const call = {
  target: z.string(),
  target_kind: z.enum(targetKinds).default("tool"),
  data_class: dataClassList,
};

const fitsItsKind = (route: { target: string; target_kind: "tool" | "agent"; data_class: string }): boolean =>
  route.target_kind === "agent"
    ? agentName.safeParse(route.target).success
    : toolRef.safeParse(route.target).success && dataClass.safeParse(route.data_class).success;
const kindMessage = "target must be a tool reference with one data class, or with target_kind: agent an agent's name";

const httpRoute = z
  .strictObject({ connect: z.literal(false), methods: z.array(method).min(1), path: routePath, ...call })
  .refine(fitsItsKind, kindMessage);

const connectRoute = z.strictObject({ connect: z.literal(true), ...call }).refine(fitsItsKind, kindMessage);

const credential = z.union([
  z.enum(["hop_token", "none", "passthrough"]),
  z.strictObject({ header: z.string().regex(token, "must be a header name"), value_file: path }),
]);

const tls = z
  .strictObject({ ca_file: path.optional(), cert_file: path.optional(), key_file: path.optional() })
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

const common = {
  name: z.string().regex(/^[A-Za-z0-9][A-Za-z0-9._-]{0,62}$/, "must be 1-63 of letters, digits, . _ -"),
  url,
  hosts: z.array(host).default([]),
  mode: z.enum(pepModes).optional(),
  tls: tls.default({}),
  credential: credential.default("hop_token"),
  allow_passthrough_when_enforcing: z.boolean().default(false),
};

const httpUpstream = z.strictObject({
  ...common,
  protocol: z.literal("http"),
  routes: z
    .array(z.preprocess(withDefault("connect", false), z.discriminatedUnion("connect", [httpRoute, connectRoute])))
    .default([]),
});

const mcpUpstream = z.strictObject({
  ...common,
  protocol: z.literal("mcp"),
  data_class: dataClass.optional(),
  tools: z.record(z.string().min(1), dataClass).default({}),
  filter_tool_lists: z.boolean().default(false),
  routes: z.array(connectRoute).default([]),
});

export const upstreamsFile = z.strictObject({
  upstreams: z.array(
    z.preprocess(withDefault("protocol", "http"), z.discriminatedUnion("protocol", [httpUpstream, mcpUpstream])),
  ),
});

export type UpstreamEntry = z.output<typeof httpUpstream> | z.output<typeof mcpUpstream>;

/** What is meant where nothing is said: see `withDefault` above. */
const impliedConsts: Readonly<Record<string, unknown>> = { protocol: "http", connect: false };

/** For editors: what may be written, before defaults are filled in. What only reading can tell is not in it. */
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
