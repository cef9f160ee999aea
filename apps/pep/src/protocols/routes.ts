import type { TargetKind } from "@svc/core";
import { liberalSegment, segmentsOf } from "../message/path.ts";

/** What a call is, as the decision point knows it. */
export interface CallTarget {
  readonly target: string;
  readonly targetKind: TargetKind;
  /** One data class; for an agent several, space-separated. */
  readonly dataClass: string;
}

/** One line of a route table: literal segments, `:name` for one non-empty segment, a final `*` for a non-empty rest. */
export interface Route {
  readonly methods: ReadonlySet<string>;
  readonly segments: readonly string[];
  readonly call: CallTarget;
}

/**
 * The first route in file order that matches, compared byte by byte. `ambiguous` where the path read as a liberal
 * server reads it would find another: `/%61dmin` must not pass as `/:page` beside `/admin`.
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
