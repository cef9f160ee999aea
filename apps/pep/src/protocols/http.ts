import { z } from "zod";
import { isUnambiguousPath, segmentsOf } from "../message/path.ts";
import { httpBlockAnswer } from "./answers.ts";
import { blockedFor } from "./blocks.ts";
import {
  commonSettings,
  connectRoute,
  fitsItsKind,
  kindMessage,
  routeTarget,
  toCall,
  withDefault,
} from "./common-settings.ts";
import type { ProtocolKind } from "./protocol.ts";
import { readPath, routeOf } from "./read-path.ts";

export const routePath = z.string().refine((text) => {
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
  create({ name, url, routes: routeEntries }) {
    const routes = routeEntries.flatMap((route) =>
      route.connect ? [] : [routeOf(route.methods, route.path, toCall(route))],
    );
    return {
      // A route begins with a slash of its own.
      basePath: new URL(url).pathname.replace(/\/$/, ""),
      takesUpgrades: true,
      ordersSessions: undefined,
      targets: () => routes.map(({ call }) => call),
      resolve: (method, path) => readPath(routes, method, path),
      unmapped: blockedFor("no_route", { upstream: name }),
      readCall: async () => ({}),
      blockAnswer: httpBlockAnswer,
      filterFor: () => undefined,
    };
  },
};
