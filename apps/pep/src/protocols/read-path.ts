import { segmentsOf } from "@svc/classify";
import { liberalReadings, liberalSegments } from "../message/path.ts";
import type { Ambiguous, CallTarget, ClassifiedTarget } from "./protocol.ts";

/** One line of a route table: literal segments, `:name` for one non-empty segment, a final `*` for a non-empty rest. */
export interface Route {
  readonly methods: ReadonlySet<string>;
  readonly path: string;
  readonly segments: readonly string[];
  /** As a liberal server spells them. */
  readonly folded: readonly string[];
  /** The path holds no name and no rest. */
  readonly isLiteral: boolean;
  readonly call: RouteCall;
}

export type RouteCall = CallTarget | ClassifiedTarget;

export function routeOf(methods: readonly string[], path: string, call: RouteCall): Route {
  const segments = segmentsOf(path);
  const isLiteral = !segments.some(isOpen);
  return { methods: new Set(methods), path, segments, folded: liberalSegments(path), isLiteral, call };
}

/**
 * Returns the first route in file order that matches byte by byte; ambiguous, where a common server could take the same
 * bytes for a route with another target; unmapped, where none matches, also if a server could take them for one
 * (docs/reference/enforcement-point.md#one-reading-of-a-path).
 */
export function readPath(routes: readonly Route[], method: string, path: string): Route | "unmapped" | Ambiguous {
  if (!path.startsWith("/")) return "unmapped";
  const segments = segmentsOf(path);
  const at = routes.findIndex((route) => route.methods.has(method) && matches(route.segments, segments));
  const found = routes[at];
  if (!found) return "unmapped";
  // A path that the file spells whole has the suffix that it spells.
  const takes = (route: Route, reading: readonly string[]) => matchesLiberally(route.folded, reading, !found.isLiteral);
  const readings = liberalReadings(path);
  const other = routes.find(
    (route, index) =>
      isOtherCall(route.call, found.call) &&
      servesMethod(route, method) &&
      readings.some(
        (reading) => takes(route, reading) && (index < at || isMoreSpecific(route, found) || !takes(found, reading)),
      ),
  );
  return other ? ambiguous(other, found) : found;
}

/** Servers give HEAD to the handler of GET (RFC 9110 section 9.3.2). */
const servesMethod = ({ methods }: Route, method: string): boolean =>
  methods.has(method) || (method === "HEAD" && methods.has("GET"));

const isOtherCall = (one: RouteCall, other: RouteCall): boolean =>
  one.target !== other.target || one.targetKind !== other.targetKind || classOf(one) !== classOf(other);

/** Its data class, or the list of rules that gives it. */
export const classOf = (call: RouteCall) => ("rules" in call ? call.rules.list : call.dataClass);

/** The segments that the route names, as they were sent. */
export const namedSegments = ({ segments }: Route, path: string): Readonly<Record<string, string>> => {
  const sent = segmentsOf(path);
  return Object.fromEntries(
    segments.flatMap((name, index) => (name.startsWith(":") ? [[name.slice(1), sent[index] ?? ""]] : [])),
  );
};

const isOpen = (expected: string): boolean => expected.startsWith(":") || expected === "*";

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  const last = pattern.length - 1;
  const hasRest = pattern[last] === "*";
  if (hasRest ? segments.length <= last : segments.length !== pattern.length) return false;
  return pattern.every((expected, index) => {
    if (hasRest && index === last) return segments.slice(last).join("/") !== "";
    const segment = segments[index] ?? "";
    return expected.startsWith(":") ? segment !== "" : segment === expected;
  });
}

/** Some servers match a rest that is empty, too. */
function matchesLiberally(pattern: readonly string[], segments: readonly string[], takesSuffix: boolean): boolean {
  const last = pattern.length - 1;
  const hasRest = pattern[last] === "*";
  if (hasRest ? segments.length < last : segments.length !== pattern.length) return false;
  return pattern.every((expected, index) => {
    if (isOpen(expected)) return true;
    const segment = segments[index] ?? "";
    const isEnd = takesSuffix && index === segments.length - 1;
    return segment === expected || (isEnd && differInSuffix(segment, expected));
  });
}

/** `report` and `report.json` (Rails' `(.:format)`, Spring's suffix patterns). */
const differInSuffix = (one: string, other: string): boolean =>
  one.startsWith(`${other}.`) || other.startsWith(`${one}.`);

/** Servers that prefer the specific route compare from the left, or count: one segment is enough to be read first. */
const isMoreSpecific = (route: Route, than: Route): boolean =>
  route.segments.some((_, index) => specificity(route, index) > specificity(than, index));

function specificity({ segments }: Route, index: number): number {
  const segment = segments[index] ?? segments.at(-1);
  if (segment === "*") return 0;
  return segment?.startsWith(":") ? 1 : 2;
}

function ambiguous(one: Route, other: Route): Ambiguous {
  const [first, second] = [one, other].map(({ methods, path }) => `${[...methods].join("|")} ${path}`);
  return { ambiguous: `${first} and as ${second}` };
}
