import { requires } from "@svc/test-support/requires";
import fc from "fast-check";
import { expect } from "vitest";
import { handlerOf, type PathServerName, pathServers, served } from "./support/path-servers.ts";
import { startedPep } from "./support/pep.ts";

const { test } = requires("nginx", "lighttpd");

const count = process.env.TEST_LONG === "true" ? 2_500 : 150;

/** A path of a route, and what makes servers read it differently. */
const plain = fc.constantFrom(
  ...["/admin", "/admin/keys", "/admin/x", "/users/me", "/users/7", "/users/7/keys", "/reports/daily"],
  ...["/reports/daily.json", "/files/a", "/files/a/b", "/", "/page", "/keys"],
);
const letter = (path: string, at: number, change: (letter: string) => string): string => {
  const index = at % path.length;
  const found = path[index] ?? "";
  return found === "/" ? path : path.slice(0, index) + change(found) + path.slice(index + 1);
};
const encoded = (text: string): string => `%${text.charCodeAt(0).toString(16)}`;
const inserted = (path: string, at: number, text: string): string => {
  const end = path.indexOf("/", 1 + (at % path.length));
  return end === -1 ? path + text : path.slice(0, end) + text + path.slice(end);
};
const change = fc.oneof(
  ...[(path: string) => path.toUpperCase(), (path: string) => `${path}/`].map(fc.constant),
  fc.nat(40).map((at) => (path: string) => letter(path, at, (text) => text.toUpperCase())),
  fc.nat(40).map((at) => (path: string) => letter(path, at, encoded)),
  fc.nat(40).map((at) => (path: string) => letter(path, at, (text) => encoded(text).replace("%", "%25"))),
  fc
    .tuple(
      fc.nat(40),
      fc.constantFrom(
        ...[".", "..", "%20", "%2e", ".json", ".JSON", ".html", ";x=1", ";", "%3b", "%3Fx", "%23x", "?x", "/", "//"],
        ...["%2f", "%5c", "%2Fkeys", "/.", "/..", "/%20", "/...", "%00", "%09", "%c3%a9", "%ff", "+", "~", "\\", "*"],
      ),
    )
    .map(
      ([at, text]) =>
        (path: string) =>
          inserted(path, at, text),
    ),
);
const path = fc
  .tuple(plain, fc.array(change, { maxLength: 3 }))
  .map(([start, changes]) => changes.reduce((read, apply) => apply(read), start));
const call = fc.record({ path, method: fc.constantFrom("GET", "GET", "GET", "HEAD"), isReversed: fc.boolean() });

const denied = ["/admin", "/admin/keys", "/admin/*", "/users/me", "/reports/daily"];
const handlers: readonly string[] = served;
const targetOf = (handler: string): string => `http:app/${handlers.indexOf(handler)}`;
const route = (path: (typeof served)[number]) => ({
  methods: path === "/:page" || path === "/users/:id" ? ["GET", "HEAD"] : ["GET"],
  path,
  target: targetOf(path),
  data_class: "docs",
});

test(`for ${count} generated paths no server's handler is reached under the decision for another route`, async () => {
  const names = Object.keys(pathServers) as PathServerName[];
  const servers = await Promise.all(names.map(async (name) => ({ name, ...(await pathServers[name]()) })));
  try {
    const routes = served.map(route);
    const { url, session, controlPlane } = await startedPep({
      upstreams: servers.flatMap(({ name, url }) => [
        { name, url, routes },
        { name: `${name}-reversed`, url, routes: routes.toReversed() },
      ]),
    });
    for (const path of served) if (!denied.includes(path)) controlPlane.policies.set(targetOf(path), {});
    const headers = await session();
    const seen = { allowed: 0, misread: 0 };
    for (const { path, method, isReversed } of fc.sample(call, { numRuns: count, seed: 18 })) {
      for (const { name, url: direct } of servers) {
        controlPlane.asked.splice(0);
        const upstream = isReversed ? `${name}-reversed` : name;
        const handler = await handlerOf(url, method, `/${upstream}${path}`, headers);
        const [decision] = controlPlane.decisions();
        if (handler !== undefined) {
          seen.allowed += 1;
          expect([name, method, path, targetOf(handler)]).toEqual([name, method, path, decision?.target]);
          expect(denied).not.toContain(handler);
        } else if (!decision && (await handlerOf(direct, method, path)) !== undefined) {
          seen.misread += 1;
        }
      }
    }
    // Most of what would have reached a handler by a path that is no route's own is refused, and plain paths are served.
    expect(seen.allowed).toBeGreaterThan(count / 2);
    expect(seen.misread).toBeGreaterThan(count / 2);
  } finally {
    await Promise.all(servers.map(({ stop }) => stop()));
  }
});
