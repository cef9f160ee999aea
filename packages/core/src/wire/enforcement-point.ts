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

const suggestedRoute = z.object({
  methods: z.array(z.string()),
  path: z.string(),
  target: z.string(),
  data_class: z.string(),
  calls,
  /** What to know before it is added. */
  note: z.string().optional(),
});

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
