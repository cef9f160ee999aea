import fc from "fast-check";
import { ask } from "./ask.ts";
import { type Headers, headersOf } from "./drive-calls.ts";
import type { Surface } from "./surface.ts";

/** Random requests from a seed, which must add no series. */

const methods = "GET POST PUT DELETE HEAD OPTIONS PATCH QUERY PROPFIND PURGE LINK M-SEARCH CANARY".split(" ");
const pieces = "canary any read write socket .. . %2e %2F %00 %0d%0a %1b[31m %22 ; : @ # ? = & \\ ~ %zz é* 7 v1 agents";
const segment = fc
  .array(fc.constantFrom(...pieces.split(" ")), { minLength: 1, maxLength: 4 })
  .map((parts) => parts.join("").replaceAll("é", "%C3%A9"));
const path = fc.array(segment, { minLength: 1, maxLength: 4 }).map((segments) => `/${segments.join("/")}`);
const status = fc.integer({ min: 200, max: 599 });
const prefix = fc.constantFrom("", "/canary-app", "/canary-app/any", "/canary-files", "/v1/audit", "/v1/agents");
const traceContext = fc.oneof(
  fc.constant({}),
  fc.record({
    traceparent: fc.constantFrom("canary", "00-canary-canary-01", `00-${"a".repeat(32)}-${"b".repeat(16)}-01`),
  }),
  fc.record({ tracestate: fc.constant("canary=canary"), baggage: fc.constant("canary=canary") }),
);

const request = fc.oneof(
  fc.record({
    method: fc.constantFrom(...methods),
    path: fc.tuple(prefix, path).map((parts) => parts.join("")),
    headers: traceContext,
  }),
  fc.record({
    method: fc.constantFrom("GET", "POST", "PUT", "DELETE"),
    path: status.map((code) => `/canary-app/any/${code}`),
    headers: traceContext,
  }),
);

const parallel = 8;

/** @returns the number of responses */
export async function callAtRandom(
  surface: Surface,
  { calls, seed }: { calls: number; seed: number },
): Promise<number> {
  const { api, enforcing, observing } = surface;
  const agent = await headersOf(surface);
  const admin: Headers = { authorization: `Bearer ${api.tokens.admin}` };
  const places: readonly (readonly [string, Headers])[] = [
    [enforcing.url, agent],
    [observing.url, agent],
    [enforcing.url, {}],
    [api.url, admin],
  ];
  const queue = fc.sample(request, { numRuns: calls, seed }).entries();
  let answered = 0;
  const work = async () => {
    for (const [index, { method, path, headers }] of queue) {
      const [url, credential] = places[index % places.length] ?? ["", {}];
      // A method that Node's HTTP parser refuses ends the connection.
      const answer = await ask(url, path, { method, headers: { ...credential, ...headers } }).catch(() => undefined);
      if (answer !== undefined) answered += 1;
    }
  };
  await Promise.all(Array.from({ length: parallel }, work));
  return answered;
}
