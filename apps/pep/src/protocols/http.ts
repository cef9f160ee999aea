import { z } from "zod";
import { isUnambiguousPath, liberalSegment, segmentsOf } from "../message/path.ts";
import { httpBlockAnswer } from "./answers.ts";
import {
  commonSettings,
  connectRoute,
  fitsItsKind,
  kindMessage,
  routeTarget,
  toCall,
  withDefault,
} from "./common-settings.ts";
import type { CallTarget, Protocol, ProtocolKind } from "./protocol.ts";

const routePath = z.string().refine((text) => {
  const segments = segmentsOf(text);
  const isSegment = (segment: string, index: number) =>
    segment === "*" ? index === segments.length - 1 : /^:[A-Za-z_]\w*$/.test(segment) || /^[^:*]*$/.test(segment);
  return isUnambiguousPath(text) && segments.every(isSegment);
}, "must be an unambiguous path of literal segments, :name segments and at most a final *");

const httpRoute = z
  .strictObject({
    connect: z.literal(false),
    methods: z.array(z.string().regex(/^[A-Z][A-Z-]*$/, "must be an HTTP method in capitals")).min(1),
    path: routePath,
    ...routeTarget,
  })
  .refine(fitsItsKind, kindMessage);

const entry = z.strictObject({
  ...commonSettings,
  protocol: z.literal("http"),
  routes: z
    .array(z.preprocess(withDefault("connect", false), z.discriminatedUnion("connect", [httpRoute, connectRoute])))
    .default([]),
});

/** Method and path name the call, by the routes of the upstreams file. */
export const http: ProtocolKind<typeof entry> = {
  entry,
  create({ url, routes: routeEntries }) {
    const routes = routeEntries.flatMap((route) =>
      route.connect ? [] : [{ methods: new Set(route.methods), segments: segmentsOf(route.path), call: toCall(route) }],
    );
    return {
      // A route begins with a slash of its own.
      basePath: new URL(url).pathname.replace(/\/$/, ""),
      takesUpgrades: true,
      ordersSessions: undefined,
      targets: () => routes.map(({ call }) => call),
      resolve: (method, path) => matchRoute(routes, method, path),
      readCall: async () => ({}),
      blockAnswer: httpBlockAnswer,
      filterFor: () => undefined,
    };
  },
};

/** One line of a route table: literal segments, `:name` for one non-empty segment, a final `*` for a non-empty rest. */
interface Route {
  readonly methods: ReadonlySet<string>;
  readonly segments: readonly string[];
  readonly call: CallTarget;
}

/**
 * Returns the first route in file order that matches, compared byte by byte. `ambiguous`: the path as a liberal server
 * reads it matches another, such as `/%61dmin`, which must not pass as `/:page` beside `/admin`.
 */
function matchRoute(routes: readonly Route[], method: string, path: string): ReturnType<Protocol["resolve"]> {
  if (!path.startsWith("/")) return "unmapped";
  const segments = segmentsOf(path);
  const find = (given: readonly string[], read: (literal: string) => string) =>
    routes.find((route) => route.methods.has(method) && matches(route.segments, given, read));
  const found = find(segments, (literal) => literal);
  if (/[%;]/.test(path) && find(segments.map(liberalSegment), liberalSegment) !== found) return "ambiguous";
  return found?.call ?? "unmapped";
}

function matches(pattern: readonly string[], segments: readonly string[], read: (literal: string) => string): boolean {
  const last = pattern.length - 1;
  const isOpen = pattern[last] === "*";
  if (isOpen ? segments.length <= last : segments.length !== pattern.length) return false;
  return pattern.every((expected, index) => {
    if (isOpen && index === last) return segments.slice(last).join("/") !== "";
    const segment = segments[index] ?? "";
    return expected.startsWith(":") ? segment !== "" : segment === read(expected);
  });
}
