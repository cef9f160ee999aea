import { describe, expect, test } from "vitest";
import { blockWords } from "../src/protocols/blocks.ts";
import { resolve } from "../src/resolve/resolve.ts";
import { startedPep } from "./support/pep.ts";
import { startedUpstream } from "./support/upstream.ts";
import { upstreamsFrom } from "./support/upstreams.ts";

type Route = [path: string, methods?: string[], target?: string];

/** Each route has its own target unless the table gives one. */
const upstreamsWith = (routes: Route[], mode: "enforce" | "observe" = "enforce") =>
  upstreamsFrom([
    {
      name: "app",
      url: "http://app.internal",
      mode,
      routes: routes.map(([path, methods = ["GET"], target = `http:app/${path.replaceAll(/[^\w.-]/g, "_")}`]) => ({
        ...{ methods, path, target },
        data_class: "docs",
      })),
    },
  ]);

const own = "127.0.0.1:16001";
function read(routes: Route[], path: string, method = "GET", mode: "enforce" | "observe" = "enforce") {
  const line = { method, target: `/app${path}`, hosts: [own], own: new Set([own]) };
  return resolve(upstreamsWith(routes, mode), line);
}

function reading(...given: Parameters<typeof read>): string {
  const resolution = read(...given);
  return resolution.kind === "call" ? resolution.call.target : resolution.kind;
}

const admin: Route[] = [["/admin"], ["/admin/keys"], ["/admin/*"], ["/:page"], ["/:page/:part"], ["/*"]];

describe("a path that a common server could read as another route is ambiguous", () => {
  test.each([
    ["case", "/Admin"],
    ["case of one letter, deeper", "/admin/kEys"],
    ["a letter of full width", "/%EF%BD%81dmin"],
    ["a Roman numeral for a letter", "/adm%E2%85%B0n"],
    ["a trailing slash", "/admin/"],
    ["a trailing slash after case", "/ADMIN/"],
    ["a trailing slash of a deeper route", "/admin/keys/"],
    ["a trailing dot", "/admin."],
    ["trailing dots and spaces", "/admin.%20."],
    ["a trailing space", "/admin%20"],
    ["a format suffix", "/admin.json"],
    ["a format suffix after case", "/Admin.JSON"],
    ["two format suffixes", "/admin.tar.gz"],
    ["a format suffix of a deeper route", "/admin/keys.xml"],
    ["parameters", "/admin;x=1"],
    ["parameters of one segment", "/admin;x=1/keys"],
    ["encoded parameters", "/admin%3bx"],
    ["an encoded question mark", "/admin%3fx"],
    ["an encoded question mark before a slash", "/admin%3fx/y"],
    ["an encoded number sign", "/admin%23x"],
    ["a twice encoded question mark", "/admin%253fx"],
    ["an encoded letter", "/%61dmin"],
    ["a twice encoded letter", "/%2561dmin"],
    ["a blank segment", "/admin/%20"],
    ["a segment of dots", "/admin/..."],
    ["several at once", "/%41DMIN.json;v=1/"],
  ])("%s: %s", (_name, path) => {
    expect(reading(admin, path)).toBe("unresolvable");
  });

  test.each([
    ["an encoded slash", "/admin%2fkeys"],
    ["an encoded backslash", "/admin%5ckeys"],
    ["a doubled slash", "/admin//keys"],
  ])("%s is refused before any route is compared", (_name, path) => {
    expect(reading([["/*"]], path)).toBe("unresolvable");
  });

  test("in observe mode too", () => {
    expect(reading(admin, "/Admin", "GET", "observe")).toBe("unresolvable");
  });

  test("a route behind a name, where only the route's literal is spelled with a suffix", () => {
    expect(reading([["/report.json"], ["/:page"]], "/report")).toBe("unresolvable");
  });

  test("a later route, where the servers that take it do not take the first", () => {
    expect(reading([["/:page"], ["/"]], "/...")).toBe("unresolvable");
  });

  test("a route of a rest, which some servers match without any", () => {
    expect([reading([["/admin/*"], ["/:page"]], "/admin"), reading([["/admin/*"], ["/:page"]], "/Admin")]).toEqual([
      "unresolvable",
      "unresolvable",
    ]);
  });

  test("a HEAD request, which servers give to the handler of GET", () => {
    const routes: Route[] = [["/admin"], ["/:page", ["GET", "HEAD"]]];
    expect([reading(routes, "/admin", "HEAD"), reading(routes, "/users", "HEAD")]).toEqual([
      "unresolvable",
      "http:app/__page",
    ]);
  });

  test.each([
    ["a literal behind a name", [["/:page"], ["/admin"]], "/admin"],
    ["a literal behind a rest", [["/*"], ["/admin"]], "/admin"],
    ["a name behind a rest", [["/files/*"], ["/files/:id"]], "/files/7"],
    ["two routes, each the more specific in one segment", [["/:a/keys"], ["/admin/:b"]], "/admin/keys"],
    ["a route that is more specific once folded", [["/:page"], ["/admin"]], "/ADMIN"],
  ] satisfies [string, Route[], string][])(
    "%s, which servers that prefer the specific route take first",
    (_name, routes, path) => {
      expect(reading(routes, path)).toBe("unresolvable");
    },
  );
});

describe("a path with one reading is its route", () => {
  test.each([
    ["the route itself", admin, "/admin", "http:app/_admin"],
    ["a deeper route", admin, "/admin/keys", "http:app/_admin_keys"],
    ["another value", admin, "/users", "http:app/__page"],
    ["a value with a suffix", admin, "/users.json", "http:app/__page"],
    ["a value in capitals", admin, "/Users", "http:app/__page"],
    ["a longer name", admin, "/administrator", "http:app/__page"],
    ["an encoded value", admin, "/%41%20b", "http:app/__page"],
    ["a rest of a prefix", admin, "/admin/x/y", "http:app/_admin__"],
    ["a rest", admin, "/a/b/c/", "http:app/__"],
    ["no route", [["/admin"]], "/users", "unmapped"],
    ["no route, though a server could read one", [["/admin"]], "/Admin", "unmapped"],
    ["files that share a name", [["/main.css"], ["/main.js"], ["/:page"]], "/main.js", "http:app/_main.js"],
    ["a suffix that the file spells", [["/feed"], ["/feed.xml"], ["/:page"]], "/feed.xml", "http:app/_feed.xml"],
    ["its name without the suffix", [["/feed.xml"], ["/feed"], ["/:page"]], "/feed", "http:app/_feed"],
    ["the root beside a name", [["/:page"], ["/"]], "/", "http:app/_"],
    ["a prefix before its rest", [["/files"], ["/files/*"]], "/files", "http:app/_files"],
  ] satisfies [string, Route[], string, string][])("%s", (_name, routes, path, want) => {
    expect(reading(routes, path)).toBe(want);
  });

  test("where every route that a server could take has the same target", () => {
    const routes: Route[] = [["/Entries", ["GET"], "http:app/e"], ["/entries", ["GET"], "http:app/e"], ["/:page"]];
    expect([reading(routes, "/entries"), reading(routes, "/Entries"), reading(routes, "/ENTRIES")]).toEqual([
      "http:app/e",
      "http:app/e",
      "unresolvable",
    ]);
  });

  test("where the file lists the path itself, first", () => {
    expect(reading([["/Admin", ["GET"], "http:app/other"], ...admin], "/Admin")).toBe("http:app/other");
  });
});

test("the refusal names both routes and what to change", () => {
  const messageOf = (path: string) => {
    const found = read(admin, path);
    return found.kind === "unresolvable" ? blockWords(found.why).message : undefined;
  };
  expect(messageOf("/Admin")).toBe(
    "a server could read this path as GET /admin and as GET /:page, which have different targets; request the path as its route spells it, or list the path itself above both; see docs/troubleshooting.md#unresolvable_call",
  );
  expect(messageOf("/a/../b")).toContain("dot segment");
});

test.each(["enforce", "observe"])("in %s mode the agent reads why, and nothing is sent or decided", async (mode) => {
  const upstream = await startedUpstream();
  const routes = ["/admin", "/:page"].map((path) => ({
    ...{ methods: ["GET"], path, target: `http:app/${path.slice(-4)}` },
    data_class: "docs",
  }));
  const { url, session, controlPlane } = await startedPep({
    upstreams: [{ name: "app", url: upstream.url, mode, routes }],
    settings: { SVC_PEP_OBSERVE_UNDECIDED: "forward" },
  });
  controlPlane.policies.set("http:app/page", {});
  const response = await fetch(`${url}/app/Admin`, { headers: await session() });
  expect([response.status, response.headers.get("x-svc-blocked")]).toEqual([404, "unresolvable_call"]);
  expect(await response.json()).toMatchObject({
    error: { message: expect.stringMatching(/GET \/admin and as GET \/:page.*list the path itself above both/) },
  });
  expect([upstream.received.length, controlPlane.decisions().length]).toEqual([0, 0]);
});
