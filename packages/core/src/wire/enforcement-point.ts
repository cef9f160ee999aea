import { z } from "zod";
import { blockCauses } from "../kinds.ts";

const calls = z.int().positive();

/** `GET /__svc/unlisted` of the admin port (docs/reference/enforcement-point.md#unlisted-calls). */
export const unlistedCalls = z.object({
  unlisted: z.array(
    z.object({ upstream: z.string(), method: z.string(), path: z.string(), cause: z.enum(blockCauses), count: calls }),
  ),
  /** Calls that found the list full. */
  dropped: z.int().nonnegative(),
});
export type UnlistedCalls = z.output<typeof unlistedCalls>;

/** `unused`: a listed host's tunnel that ended before a request; the others are of hosts that no upstream lists. */
const hostOutcomes = ["refused", "tunnelled", "forwarded", "unused"] as const;

/** `GET /__svc/hosts` of the admin port (docs/reference/enforcement-point.md#other-hosts). */
export const unlistedHosts = z.object({
  hosts: z.array(z.object({ host: z.string(), outcome: z.enum(hostOutcomes), count: calls })),
  dropped: unlistedCalls.shape.dropped,
});
export type UnlistedHosts = z.output<typeof unlistedHosts>;

/** Of what `svc-pep --print-config` prints: the hosts of each upstream. */
export const printedHosts = z.object({ upstreams: z.array(z.object({ hosts: z.array(z.string()).default([]) })) });

const suggestedRoute = z.object({
  methods: z.array(z.string()),
  path: z.string(),
  target: z.string(),
  data_class: z.string(),
  calls,
  /** What to know before it is added. */
  note: z.string().optional(),
});

/** What `svc-pep --lint` prints (docs/reference/enforcement-point.md#checking-rules). Rules count from 1. */
export const lintedRules = z.object({
  /** How many were compared. */
  rules: z.int().nonnegative(),
  findings: z.array(
    z.object({
      upstream: z.string(),
      /** Methods and path of a route, or a tool. */
      at: z.string(),
      kind: z.enum(["unsatisfiable", "subsumed", "overlap"]),
      rule: z.int().positive(),
      data_class: z.string(),
      /** The earlier rule. */
      by: z.int().positive().nullable(),
      by_data_class: z.string().nullable(),
    }),
  ),
});
export type LintedRules = z.output<typeof lintedRules>;

/** What `svc-pep --suggest` prints (docs/reference/enforcement-point.md#suggested-routes). */
export const suggestions = z.object({
  upstreams: z.array(
    z.object({
      name: z.string(),
      /** To add after those that the upstream has. */
      routes: z.array(suggestedRoute),
      /** For an MCP upstream's `tools`. */
      tools: z.array(z.object({ name: z.string(), data_class: z.string(), calls })),
      /** Calls for which nothing is suggested. */
      open: z.array(z.object({ method: z.string(), path: z.string(), calls, why: z.string() })),
    }),
  ),
  dropped: unlistedCalls.shape.dropped,
});
export type Suggestions = z.output<typeof suggestions>;
