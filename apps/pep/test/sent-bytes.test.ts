import fc from "fast-check";
import { expect, test } from "vitest";
import { type RequestLine, resolve } from "../src/resolve/resolve.ts";
import { startedPep } from "./support/pep.ts";
import { rawConnection } from "./support/raw.ts";
import { startedUpstream } from "./support/upstream.ts";
import { upstreamsFrom } from "./support/upstreams.ts";

/** Pieces that paths are read differently for, and plain ones between them. */
const oddPiece = fc.constantFrom(
  ...["//", ".", "..", ";", ";x=1", "\\", "#", "?", "*", ":id", "~", "@", "%"],
  ...["%2e", "%2E%2e", "%2f", "%5C", "%3b", "%00", "%0d%0a", "%25", "%252e", "%ff", "%c0%af", "%C3%A9", "%61", "%zz"],
);
const plainPiece = fc.constantFrom("/", "/", "a", "admin", "entries", "ledger", "7", "A");
const piece = fc.oneof({ weight: 4, arbitrary: plainPiece }, { weight: 1, arbitrary: oddPiece });
const path = fc.array(piece, { maxLength: 8 }).map((pieces) => `/${pieces.join("")}`);
const own = "127.0.0.1:16001";
const strangeAuthority = fc.constantFrom("evil.example", "ledger.internal@evil", "127.0.0.1:16002", "");
const knownAuthority = fc.constantFrom(own, "localhost:16001", "ledger.internal", "LEDGER.internal.:80");
const authority = fc.oneof({ weight: 5, arbitrary: knownAuthority }, { weight: 1, arbitrary: strangeAuthority });

/** Every form a request line may take (RFC 9112 section 3.2). */
const line: fc.Arbitrary<RequestLine> = fc
  .record({
    method: fc.constantFrom("GET", "GET", "POST", "TRACE"),
    path,
    prefix: fc.constantFrom("", "/ledger", "/ledger", "/nobody"),
    host: authority,
    absolute: fc.option(authority, { freq: 2 }),
  })
  .map(({ method, path, prefix, host, absolute }) => ({
    method,
    target: absolute === null ? `${prefix}${path}` : `http://${absolute}${path}`,
    hosts: [host],
    own: new Set([own, "localhost:16001"]),
  }));

const routes = [
  { methods: ["GET"], path: "/admin", target: "http:ledger/admin", data_class: "finance" },
  { methods: ["GET"], path: "/entries/:id", target: "http:ledger/read_entry", data_class: "finance" },
  { methods: ["GET"], path: "/:page", target: "http:ledger/page", data_class: "public" },
  { methods: ["GET", "POST"], path: "/*", target: "http:ledger/rest", data_class: "public" },
];

/** What any server behind would take the path for: decoded, without dots, parameters, case, blank ends and suffix. */
function asServersReadIt(sent: string): string {
  const segments = decodeURIComponent(new URL(`http://h${sent}`).pathname)
    .toLowerCase()
    .split("/")
    .map((segment) => segment.replace(/;.*/, "").replace(/[. ]+$/, ""));
  return `/${segments.filter((segment) => segment !== "").join("/")}`.replace(/([^/])\.[^/]*$/, "$1");
}

const plainMeaning = (read: string): string => {
  if (read === "/admin") return "http:ledger/admin";
  if (/^\/entries\/[^/]+$/.test(read)) return "http:ledger/read_entry";
  return /^\/[^/]+$/.test(read) ? "http:ledger/page" : "http:ledger/rest";
};

test("for 100,000 request lines, every server reads the forwarded bytes as the call that was decided", () => {
  const upstreams = upstreamsFrom([
    { name: "ledger", url: "http://ledger.internal", hosts: ["ledger.internal"], routes },
  ]);
  let resolved = 0;
  fc.assert(
    fc.property(line, (request) => {
      const place = resolve(upstreams, request);
      if (place.kind !== "call") return;
      resolved += 1;
      // The sent path is a suffix of what was received: nothing was parsed and written anew.
      expect(request.target.endsWith(place.path) || place.path === "/" || place.path.startsWith("/?")).toBe(true);
      if (request.method === "GET") expect(place.call.target).toBe(plainMeaning(asServersReadIt(place.path)));
    }),
    { numRuns: 100_000 },
  );
  expect(resolved).toBeGreaterThan(10_000);
});

test("an echoing upstream receives the exact bytes that were decided on", async () => {
  const upstream = await startedUpstream((request, response) => response.end(request.url));
  const hosts = ["ledger.internal"];
  const { port, session, controlPlane } = await startedPep({
    upstreams: [{ name: "ledger", url: upstream.url, hosts, routes }],
  });
  for (const { target } of routes) controlPlane.policies.set(target, {});
  const { authorization, "x-svc-session": sessionId } = await session();
  const upstreams = upstreamsFrom([{ name: "ledger", url: upstream.url, hosts, routes }]);
  const lines = fc.sample(line, { numRuns: 1_500, seed: 7 }).filter(({ target }) => !/\s/.test(target));
  let forwarded = 0;
  for (const {
    method,
    target,
    hosts: [host = ""],
  } of lines) {
    const here = host.replace("16001", String(port));
    const own = new Set([`127.0.0.1:${port}`, `localhost:${port}`]);
    const place = resolve(upstreams, { method, target, hosts: [here], own });
    // A Host that is none is 400, whatever the absolute form names.
    if (here === "" || here.includes("@")) continue;
    if (place.kind === "call") forwarded += 1;
    else if (forwarded % 10 !== 0) continue;
    const before = upstream.received.length;
    const headers = [
      `Host: ${here}`,
      `Authorization: ${authorization}`,
      `X-Svc-Session: ${sessionId}`,
      "Connection: close",
    ];
    const agent = await rawConnection(port, [`${method} ${target} HTTP/1.1`, ...headers, "", ""].join("\r\n"));
    await agent.closed();
    const sent = upstream.received.slice(before).map(({ url }) => url);
    expect(sent).toEqual(place.kind === "call" ? [place.path] : []);
  }
  expect(forwarded).toBeGreaterThan(50);
});
