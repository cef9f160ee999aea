import { compileRules, isUnambiguousPath, type Rule, segmentsOf } from "@svc/classify";
import { z } from "zod";
import { httpBlockAnswer } from "./answers.ts";
import { argumentReader } from "./argument-reader.ts";
import { blockedFor } from "./blocks.ts";
import {
  type ClassifiedRoute,
  classifiedTarget,
  commonSettings,
  connectRoute,
  fitsItsKind,
  kindMessage,
  withDefault,
} from "./common-settings.ts";
import { type ProtocolKind, possibleCalls } from "./protocol.ts";
import { namedSegments, type RouteCall, readPath, routeOf } from "./read-path.ts";

export const routePath = z.string().refine((text) => {
  const segments = segmentsOf(text);
  const isSegment = (segment: string, index: number) =>
    segment === "*" ? index === segments.length - 1 : /^:[A-Za-z_]\w*$/.test(segment) || /^[^:*]*$/.test(segment);
  return isUnambiguousPath(text) && segments.every(isSegment);
}, "must be an unambiguous path of literal segments, :name segments and at most a final *");

const httpRoute = z
  .strictObject({
    connect: z.literal(false).describe("Left out, except for a tunnel."),
    methods: z
      .array(z.string().regex(/^[A-Z][A-Z-]*$/, "must be an HTTP method in capitals"))
      .min(1)
      .describe("HTTP methods in capitals."),
    path: routePath.describe(
      "The path below the upstream's URL. `:name` matches one segment, a final `*` the non-empty rest.",
    ),
    ...classifiedTarget,
  })
  .refine(fitsItsKind, kindMessage)
  .refine(namesItsSegments, { message: "a :name of its rules must be one segment of the path", path: ["classify"] });

function namesItsSegments({
  path,
  classify = [],
}: {
  readonly path: string;
  readonly classify?: readonly Rule[] | undefined;
}): boolean {
  const names = classify.flatMap(({ when }) => Object.keys(when)).filter((pointer) => pointer.startsWith(":"));
  return names.every((name) => segmentsOf(path).filter((segment) => segment === name).length === 1);
}

function toRouteCall({ target, target_kind: targetKind, data_class, classify }: ClassifiedRoute): RouteCall {
  if (classify) return { target, targetKind, rules: compileRules(classify, data_class) };
  // A route has one of the two.
  return { target, targetKind, dataClass: data_class ?? "" };
}

const entry = z.strictObject({
  ...commonSettings,
  protocol: z.literal("http").describe("Left out, or `http`: method and path name the call."),
  routes: z
    .array(z.preprocess(withDefault("connect", false), z.discriminatedUnion("connect", [httpRoute, connectRoute])))
    .default([])
    .describe("Which call is which tool, tried in this order. A call that none lists is blocked while enforcing."),
});

/** Method and path name the call, by the routes of the upstreams file. */
export const http: ProtocolKind<typeof entry> = {
  entry,
  create({ name, url, routes: routeEntries }) {
    const routes = routeEntries.flatMap((route) =>
      route.connect ? [] : [routeOf(route.methods, route.path, toRouteCall(route))],
    );
    return {
      // A route begins with a slash of its own.
      basePath: new URL(url).pathname.replace(/\/$/, ""),
      takesUpgrades: true,
      ordersSessions: undefined,
      targets: () => routes.flatMap(({ call }) => ("rules" in call ? possibleCalls(call) : [call])),
      resolve(method, path, query) {
        const found = readPath(routes, method, path);
        if (typeof found === "string" || "ambiguous" in found) return found;
        const { call } = found;
        if (!("rules" in call)) return call;
        return { ...call, readCall: argumentReader(name, call, { query, segments: namedSegments(found, path) }) };
      },
      unmapped: blockedFor("no_route", { upstream: name }),
      readCall: async () => ({}),
      blockAnswer: httpBlockAnswer,
      listChanges: () => [],
      onChange: undefined,
      filterFor: () => undefined,
    };
  },
};
