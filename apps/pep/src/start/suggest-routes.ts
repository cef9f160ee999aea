import { segmentsOf } from "@svc/classify";
import { dataClass, type Suggestions, toolRef, type UnlistedCalls } from "@svc/core";
import { toCall } from "../protocols/common-settings.ts";
import { http, routePath } from "../protocols/http.ts";
import { type UpstreamEntry, upstreamEntry } from "../protocols/protocols.ts";
import { classOf, type RouteCall } from "../protocols/read-path.ts";

type Unlisted = UnlistedCalls["unlisted"][number];
type SuggestedUpstream = Suggestions["upstreams"][number];
type SuggestedRoute = SuggestedUpstream["routes"][number];

/**
 * The entries that would list unlisted calls, beside the given upstreams; without any, beside none. No suggested route
 * makes a path ambiguous that was not (docs/reference/enforcement-point.md#suggested-routes).
 */
export function suggestRoutes(
  unlisted: readonly Unlisted[],
  entries: readonly UpstreamEntry[] | undefined,
): SuggestedUpstream[] {
  const names = [...new Set(unlisted.map(({ upstream }) => upstream))].sort();
  return names.flatMap((name) => {
    const calls = unlisted.filter(({ upstream }) => upstream === name);
    const entry = entries === undefined ? unknownEntry(name, calls) : entries.find((each) => each.name === name);
    if (entry === undefined) {
      const why = "the upstreams file has no upstream of this name";
      return { name, routes: [], tools: [], open: calls.map((call) => openCall(call, why)) };
    }
    const left = calls.filter((call) => !isListed(entry, call));
    return left.length === 0 ? [] : suggestFor(entry, left);
  });
}

/** The file was changed since the call. */
function isListed(entry: UpstreamEntry, { method, path, cause }: Unlisted): boolean {
  if (cause !== "unresolvable_call") return false;
  if (method === "CONNECT") return entry.routes.some(({ connect }) => connect);
  if (entry.protocol === "mcp") return Object.hasOwn(entry.tools, path);
  return isCall(http.create(entry).resolve(method, samplePath(path)));
}

const unknownEntry = (name: string, calls: readonly Unlisted[]): UpstreamEntry =>
  upstreamEntry.parse({
    name,
    url: "http://unknown.invalid",
    protocol: calls.some(({ path }) => path.startsWith("#")) ? "mcp" : "http",
  });

const openCall = ({ method, path, count: calls }: Unlisted, why: string) => ({ method, path, calls, why });

function suggestFor(entry: UpstreamEntry, calls: readonly Unlisted[]): SuggestedUpstream {
  const reasons = calls.map((call) => ({ call, why: reasonFor(entry, call) }));
  const open = reasons.flatMap(({ call, why }) => (why === undefined ? [] : [openCall(call, why)]));
  const bound = reasons.flatMap(({ call, why }) => (why === undefined ? [call] : []));
  const { name } = entry;
  if (entry.protocol === "mcp") {
    const data_class = entry.data_class ?? className(name);
    const tools = bound.map(({ path, count }) => ({ name: path, data_class, calls: count }));
    return { name, routes: [], tools, open };
  }
  const { routes, refused } = addRoutes(entry, bound);
  return { name, routes, tools: [], open: [...open, ...refused] };
}

const bodyRemedy =
  "its route is listed; send one JSON object, declared as plain JSON and within SVC_PEP_BIND_CAP_BYTES";

/** Why no entry is suggested for a call. */
function reasonFor({ name, protocol }: UpstreamEntry, { method, path, cause }: Unlisted): string | undefined {
  if (cause !== "unresolvable_call") return `${cause}: ${bodyRemedy}`;
  if (method === "CONNECT")
    return "a tunnel: a route with connect: true is one decision for all that passes through it";
  const isMessage = path.startsWith("#");
  if (protocol === "http") return routePath.safeParse(path).success ? undefined : "no route can spell it";
  if (!isMessage) return "an MCP upstream has one path";
  if (path === "#tools/call") return "the list does not keep names of tools: name the tool in tools, or set data_class";
  return toolRef.safeParse(`mcp:${name}${path}`).success ? undefined : "its name is no tool reference";
}

type HttpEntry = Extract<UpstreamEntry, { protocol: "http" }>;
type HttpRoute = Extract<HttpEntry["routes"][number], { connect: false }> & { readonly data_class: string };

interface Wanted {
  readonly methods: readonly string[];
  readonly path: string;
  readonly calls: number;
}

function addRoutes(entry: HttpEntry, calls: readonly Unlisted[]) {
  const routes: SuggestedRoute[] = [];
  const refused: SuggestedUpstream["open"][number][] = [];
  let present = entry;
  for (const wanted of wantedOf(calls)) {
    const { methods, path, calls: count } = wanted;
    const found = firstFitting(present, wanted);
    if ("why" in found) {
      refused.push({ method: methods.join(", "), path, calls: count, why: found.why });
      continue;
    }
    const { target, data_class } = found.route;
    const isKnown = present.routes.some((route) => route.target === target);
    const note = isKnown ? { note: `${target} is the target of another route too` } : {};
    routes.push({ methods: [...methods], path, target, data_class, calls: count, ...note });
    present = { ...present, routes: [...present.routes, found.route] };
  }
  return { routes, refused };
}

/** The specific before the general, as the order of a file must be; GET and HEAD of a path as one. */
function wantedOf(calls: readonly Unlisted[]): readonly Wanted[] {
  const groups = Map.groupBy(calls, ({ method, path }) => `${method === "HEAD" ? "GET" : method} ${path}`);
  const wanted = [...groups.values()].map((group) => ({
    methods: [...new Set(group.map(({ method }) => method))].sort(),
    path: group[0]?.path ?? "/",
    calls: group.reduce((sum, { count }) => sum + count, 0),
  }));
  return wanted.sort((a, b) => compare(orderOf(a), orderOf(b)));
}

const compare = (a: string, b: string): number => (a < b ? -1 : Number(a > b));
/** Literal segments sort before names, names before a rest. */
const orderOf = ({ methods, path }: Wanted): string =>
  `${segmentsOf(path)
    .map((segment) => (segment === "*" ? "\uffff" : segment.startsWith(":") ? "\ufffe" : `!${segment}`))
    .join("/")} ${methods.join()}`;

/** The guessed target; else that of the route by which a server could serve the path too. */
function firstFitting(entry: HttpEntry, { methods, path }: Wanted): { route: HttpRoute } | { why: string } {
  const guess = guessFor(entry.name, methods, path);
  if (!toolRef.safeParse(guess.target).success) return { why: "its path is too long for a target: choose one" };
  const served = servedBy(entry, methods, path);
  let why = "";
  for (const call of [guess, ...served]) {
    const route: HttpRoute = { connect: false, methods: [...methods], path, target_kind: "tool", ...call };
    const conflict = conflictOf(entry, route);
    if (conflict === undefined) return { route };
    why ||= conflict;
  }
  return { why };
}

const reading: readonly string[] = ["GET", "HEAD", "OPTIONS"];

/** `http:ledger/read_entries_by_id` for `GET /entries/:id` of `ledger`, with the class `ledger.reads`. */
function guessFor(upstream: string, methods: readonly string[], path: string) {
  const [method = ""] = methods;
  const reads = reading.includes(method);
  const verb = method === "GET" || method === "HEAD" ? "read" : method.toLowerCase();
  const words = segmentsOf(path).flatMap((segment) => {
    if (segment === "") return [];
    if (segment === "*") return ["rest"];
    const word = segment.toLowerCase().replace(/[^a-z0-9._-]/g, "-");
    return [segment.startsWith(":") ? `by_${word.slice(1)}` : word];
  });
  const operation = [verb, ...(words.length === 0 ? ["root"] : words)].join("_");
  return {
    target: `http:${upstream}/${operation}`,
    data_class: `${className(upstream)}.${reads ? "reads" : "writes"}`,
  };
}

/** An upstream's name as a data class, which has no empty segment. */
function className(upstream: string): string {
  const name = upstream.replace(/\.+/g, ".").replace(/\.$/, "");
  return dataClass.safeParse(name).success ? name : "unclassified";
}

/** A value that no file spells. */
const sample = "0190f5a1-sample";
const isOpen = (segment: string): boolean => segment === "*" || segment.startsWith(":");
const samplePath = (path: string): string =>
  `/${segmentsOf(path)
    .map((each) => (isOpen(each) ? sample : each))
    .join("/")}`;

/** Other spellings by which servers could reach the same handler. */
const spellings = (path: string): readonly string[] => [
  path,
  path.toLowerCase(),
  path.endsWith("/") ? path.slice(0, -1) || "/" : `${path}/`,
  path.replace(/\.[^./]*$/, ""),
];

/** A path that both could match: the literals of one, else of the other. */
function between(one: string, other: string): string {
  const [first, second] = [segmentsOf(one), segmentsOf(other)];
  const length = Math.max(first.length, second.length);
  const at = (segments: readonly string[], index: number) => segments[index] ?? "*";
  const segments = Array.from({ length }, (_, index) => {
    const literal = [at(first, index), at(second, index)].find((segment) => !isOpen(segment));
    return literal ?? sample;
  });
  return `/${segments.join("/")}`;
}

/** Servers give HEAD to the handler of GET. */
const methodsNear = (method: string): readonly string[] =>
  method === "GET" || method === "HEAD" ? ["GET", "HEAD"] : [method];

/** The calls that other spellings of the path are, or its GET or HEAD is. */
function servedBy(entry: HttpEntry, methods: readonly string[], path: string) {
  const { resolve } = http.create(entry);
  return methods
    .flatMap(methodsNear)
    .flatMap((method) => spellings(samplePath(path)).map((spelling) => resolve(method, spelling)))
    .flatMap((found) => {
      if (!isCall(found) || "rules" in found || found.targetKind !== "tool") return [];
      return [{ target: found.target, data_class: found.dataClass }];
    });
}

type Reading = ReturnType<ReturnType<typeof http.create>["resolve"]>;
const isCall = (found: Reading): found is Extract<Reading, RouteCall> => typeof found === "object" && "target" in found;
const isSame = (found: Reading, call: RouteCall): boolean =>
  isCall(found) &&
  found.target === call.target &&
  found.targetKind === call.targetKind &&
  classOf(found) === classOf(call);

/** Undefined: with the route its path is its call, and every path that was another call still is that. */
function conflictOf(entry: HttpEntry, route: HttpRoute): string | undefined {
  const before = http.create(entry);
  const after = http.create({ ...entry, routes: [...entry.routes, route] });
  const own = samplePath(route.path);
  const others = entry.routes.flatMap((other) =>
    other.connect ? [] : [between(route.path, other.path), between(other.path, route.path)],
  );
  const paths = new Set([own, ...others].flatMap(spellings));
  for (const method of new Set(route.methods.flatMap(methodsNear))) {
    for (const path of paths) {
      const expected = path === own && route.methods.includes(method) ? toCall(route) : before.resolve(method, path);
      const found = after.resolve(method, path);
      if (isCall(expected) && !isSame(found, expected)) return conflictText(found, path);
    }
  }
  return undefined;
}

const conflictText = (found: Reading, path: string): string =>
  typeof found === "object" && "ambiguous" in found
    ? `servers could read ${path} as ${found.ambiguous}: give both one target, or list that path above them`
    : `another route has ${path} already`;
