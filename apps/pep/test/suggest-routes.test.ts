import { isUnambiguousPath } from "@svc/classify";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { http } from "../src/protocols/http.ts";
import { suggestRoutes } from "../src/start/suggest-routes.ts";
import { upstreamsFile } from "../src/upstreams/upstreams-file.ts";

const route = (line: string, target: string) => {
  const [method = "", path = ""] = line.split(" ");
  return { methods: [method], path, target, data_class: "known" };
};
const entriesOf = (more: object) =>
  upstreamsFile.parse({ upstreams: [{ name: "ledger", url: "http://ledger", ...more }] }).upstreams;
const call = (line: string, { cause = "unresolvable_call", count = 1 } = {}) => {
  const [method = "", path = ""] = line.split(" ");
  return { upstream: "ledger", method, path, cause: cause as "unresolvable_call", count };
};
const suggest = (calls: readonly ReturnType<typeof call>[], more: object = {}) =>
  suggestRoutes(calls, entriesOf(more))[0];

describe("a route is suggested for an unlisted call, with target and data class by its method and template", () => {
  test.each([
    ["GET /", "http:ledger/read_root", "ledger.reads"],
    ["GET /v1/entries/:id", "http:ledger/read_v1_entries_by_id", "ledger.reads"],
    ["POST /entries", "http:ledger/post_entries", "ledger.writes"],
    ["DELETE /entries/:id/lines/:id", "http:ledger/delete_entries_by_id_lines_by_id", "ledger.writes"],
    ["OPTIONS /entries/", "http:ledger/options_entries", "ledger.reads"],
    ["GET /files/~tmp/*", "http:ledger/read_files_-tmp_rest", "ledger.reads"],
  ])("%s", (line, target, data_class) => {
    const [methods, path] = line.split(" ");
    expect(suggest([call(line, { count: 3 })])).toEqual({
      name: "ledger",
      routes: [{ methods: [methods], path, target, data_class, calls: 3 }],
      tools: [],
      open: [],
    });
  });

  test("the specific before the general, and GET and HEAD of a path as one", () => {
    const calls = ["GET /entries/:id", "HEAD /entries/:id", "GET /entries/search", "GET /*"].map((line) => call(line));
    const found = suggest(calls);
    expect(found?.routes.map(({ methods, path }) => `${methods} ${path}`)).toEqual([
      "GET /entries/search",
      "GET,HEAD /entries/:id",
      "GET /*",
    ]);
    expect(found?.routes[1]?.calls).toBe(2);
  });
});

describe("beside the routes of the file", () => {
  test.each([
    ["a HEAD", "HEAD /read", route("GET /read", "http:ledger/read"), "http:ledger/read"],
    ["a trailing slash", "GET /read/", route("GET /read", "http:ledger/read"), "http:ledger/read"],
    ["another case", "GET /Read", route("GET /read", "http:ledger/read"), "http:ledger/read"],
    ["a name's trailing slash", "GET /about/", route("GET /:page", "http:ledger/page"), "http:ledger/page"],
    ["another method", "PUT /read", route("GET /read", "http:ledger/read"), "http:ledger/put_read"],
  ])("%s gets the target by which servers could serve it", (_name, line, existing, target) => {
    const found = suggest([call(line)], { routes: [existing] });
    expect(found?.routes.map((each) => each.target)).toEqual([target]);
    expect(found?.routes[0]?.note).toEqual(
      target === existing.target ? expect.stringContaining(existing.target) : undefined,
    );
  });

  test("one that would make a listed path ambiguous is not suggested, and named with the reason", () => {
    const routes = [route("GET /users/:id", "http:ledger/user")];
    expect(suggest([call("GET /:id/settings")], { routes })).toEqual({
      name: "ledger",
      routes: [],
      tools: [],
      open: [
        {
          method: "GET",
          path: "/:id/settings",
          calls: 1,
          why: expect.stringMatching(/\/users\/settings.*\/users\/:id/),
        },
      ],
    });
  });

  test("no suggestion changes how a path of the file is read, and each is read as its own call", () => {
    const segment = fc.constantFrom("a", "A", "b", "a.json", ":id", ":name", "");
    const path = fc.array(segment, { minLength: 1, maxLength: 3 }).map((segments) => `/${segments.join("/")}`);
    const legal = path.filter(isUnambiguousPath);
    const method = fc.constantFrom("GET", "HEAD", "POST");
    const line = fc.tuple(method, legal).map((parts) => parts.join(" "));
    const value = fc.constantFrom("a", "A", "b", "a.json", "7", "x", "");
    const asked = fc.tuple(
      method,
      fc.array(value, { minLength: 1, maxLength: 3 }).map((parts) => `/${parts.join("/")}`),
    );
    fc.assert(
      fc.property(
        fc.array(line, { maxLength: 4 }),
        fc.array(line, { maxLength: 5 }),
        fc.array(asked),
        (listed, unlisted, paths) => {
          const routes = listed.map((each, index) => route(each, `http:ledger/r${index}`));
          const [entry] = entriesOf({ routes });
          if (entry?.protocol !== "http") return;
          const before = http.create(entry);
          const calls = unlisted
            .map((each) => call(each))
            .filter(({ method, path }) => before.resolve(method, path.replaceAll(/:\w+/g, "7")) === "unmapped");
          const suggested = suggest(calls, { routes })?.routes ?? [];
          const after = http.create(
            entriesOf({ routes: [...routes, ...suggested.map(({ calls: _, note: __, ...each }) => each)] })[0] as never,
          );
          for (const { methods, path, target } of suggested)
            for (const each of methods)
              expect(after.resolve(each, path.replaceAll(/:\w+/g, "7"))).toMatchObject({ target });
          for (const [each, path] of paths) {
            const was = before.resolve(each, path);
            if (typeof was === "object" && "target" in was)
              expect(after.resolve(each, path), `${each} ${path}`).toEqual(was);
          }
        },
      ),
      { numRuns: 3_000 },
    );
  });
});

test.each([
  ["GET /entries/:id", { routes: [route("GET /entries/:entry", "http:ledger/read")] }],
  ["CONNECT /", { routes: [{ connect: true, target: "http:ledger/tunnel", data_class: "known" }] }],
  ["POST #resources/list", { protocol: "mcp", tools: { "#resources/list": "docs" } }],
])("a call that the file lists by now is left out: %s", (line, entry) => {
  expect(suggestRoutes([call(line)], entriesOf(entry))).toEqual([]);
});

describe("what the file alone cannot list is named, with what to do", () => {
  test.each([
    ["a body", "POST /write", { cause: "unbindable" }, {}, /one JSON object/],
    ["a long body", "POST /write", { cause: "body_too_large" }, {}, /SVC_PEP_BIND_CAP_BYTES/],
    ["a tunnel", "CONNECT /", {}, {}, /connect: true/],
    ["a long path", `GET /${"abcdefghijklmnop/".repeat(16)}a`, {}, {}, /too long/],
    ["a tool", "POST #tools/call", {}, { protocol: "mcp" }, /data_class/],
    ["another path of an MCP upstream", "GET /other", {}, { protocol: "mcp" }, /one path/],
  ])("%s", (_name, line, more, entry, why) => {
    expect(suggest([call(line, more)], entry)).toMatchObject({
      routes: [],
      tools: [],
      open: [{ why: expect.stringMatching(why) }],
    });
  });

  test("an upstream that the file does not have", () => {
    expect(suggestRoutes([{ ...call("GET /"), upstream: "gone" }], entriesOf({}))).toMatchObject([
      { name: "gone", routes: [], open: [{ why: expect.stringContaining("no upstream") }] },
    ]);
  });
});

test("an MCP method gets the class of its upstream, else its name", () => {
  const calls = [call("POST #resources/list")];
  const tools = (data_class: string) => ({ tools: [{ name: "#resources/list", data_class, calls: 1 }], open: [] });
  expect(suggest(calls, { protocol: "mcp", data_class: "docs" })).toMatchObject(tools("docs"));
  expect(suggest(calls, { protocol: "mcp" })).toMatchObject(tools("ledger"));
  expect(suggestRoutes(calls, undefined)).toMatchObject([tools("ledger")]);
});
