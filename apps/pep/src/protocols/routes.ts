import { z } from "zod";
import { isUnambiguousPath, liberalSegment, segmentsOf } from "../message/path.ts";
import type { CallTarget } from "./protocol.ts";

export const routePath = z.string().refine((text) => {
  const segments = segmentsOf(text);
  const isSegment = (segment: string, index: number) =>
    segment === "*" ? index === segments.length - 1 : /^:[A-Za-z_]\w*$/.test(segment) || /^[^:*]*$/.test(segment);
  return isUnambiguousPath(text) && segments.every(isSegment);
}, "must be an unambiguous path of literal segments, :name segments and at most a final *");

/** One line of a route table: literal segments, `:name` for one non-empty segment, a final `*` for a non-empty rest. */
export interface Route {
  readonly methods: ReadonlySet<string>;
  readonly segments: readonly string[];
  readonly call: CallTarget;
}

/**
 * Returns the first route in file order that matches, compared byte by byte. `ambiguous`: the path as a liberal server
 * reads it matches another, such as `/%61dmin`, which must not pass as `/:page` beside `/admin`.
 */
export function matchRoute(routes: readonly Route[], method: string, path: string): Route | "ambiguous" | undefined {
  if (!path.startsWith("/")) return undefined;
  const segments = segmentsOf(path);
  const found = routes.find((route) => route.methods.has(method) && matches(route.segments, segments, asIs));
  if (!/[%;]/.test(path)) return found;
  const liberal = segments.map(liberalSegment);
  const liberally = routes.find(
    (route) => route.methods.has(method) && matches(route.segments, liberal, liberalSegment),
  );
  return liberally === found ? found : "ambiguous";
}

const asIs = (literal: string): string => literal;

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
