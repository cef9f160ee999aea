import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Stand } from "@svc/test-conformance/stand";
import { waitUntil } from "@svc/test-support";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { openGuarded, routes, scope } from "./src/pep/guarded.ts";
import { decisionsOf } from "./src/pep/record.ts";
import { large, startVariedUpstream, type VariedUpstream } from "./src/pep/varied-upstream.ts";
import { type AppRequest, type Seen, type Way, whole } from "./src/pep/whole-exchange.ts";

/** The application's own key, unrelated to ours. */
const ownKey = "Bearer sk-of-the-application";

let upstream: VariedUpstream;
let stand: Stand;
let folder: string;
let session: string;

beforeAll(async () => {
  folder = mkdtempSync(join(tmpdir(), "svc-transparent-"));
  const sessionFile = join(folder, "session.json");
  upstream = await startVariedUpstream();
  const undeclared = {
    methods: ["GET", "POST"],
    path: "/undeclared/*",
    target: "http:app/undeclared",
    data_class: "docs",
  };
  const observed = { url: upstream.url, routes: [...routes, undeclared], credential: "passthrough", mode: "observe" };
  stand = await openGuarded({
    upstreams: () => [
      { ...observed, name: "app", hosts: ["app.internal"] },
      { name: "strict", url: upstream.url, routes: [...routes, undeclared] },
    ],
    enforcementPoint: { SVC_PEP_SESSION_FILE: sessionFile },
  });
  const consent = await stand.api.consent(scope);
  session = consent.session;
  writeFileSync(sessionFile, JSON.stringify({ session_id: session, token: consent.token }));
  await waitUntil("the session to be reloaded", async () => (await whole(prefix(), plain)).status === 200);
});
afterAll(async () => {
  await stand?.stop();
  await upstream?.stop();
  rmSync(folder, { recursive: true, force: true });
});

const direct = (): Way => ({ url: upstream.url, pathOf: (path) => path });
const prefix = (): Way => ({ url: stand.enforcementPoint.url, pathOf: (path) => `/app${path}` });
const forwardProxy = (): Way => ({ url: stand.enforcementPoint.url, pathOf: (path) => `http://app.internal${path}` });

const plain: AppRequest = { name: "a plain read", method: "GET", path: "/any/plain?q=%zz&r=a+b" };
const body = (bytes: Buffer): Pick<AppRequest, "body" | "headers"> => ({
  body: bytes,
  headers: ["content-type", "application/octet-stream", "content-length", String(bytes.length)],
});
const bytes = Buffer.from([0, 255, 13, 10, 128, 1, 2, 3]);

const requests: AppRequest[] = [
  plain,
  { name: "a HEAD", method: "HEAD", path: "/any/large" },
  ...["POST", "PUT", "PATCH", "DELETE"].map((method) => ({
    name: `a ${method} with a body`,
    method,
    path: "/any/echo",
    ...body(bytes),
  })),
  { name: "a GET with a body", method: "GET", path: "/any/echo", ...body(Buffer.from("asked")) },
  { name: "OPTIONS", method: "OPTIONS", path: "/any/nothing", headers: ["access-control-request-method", "PUT"] },
  { name: "an empty POST", method: "POST", path: "/any/echo", headers: ["content-length", "0"] },
  {
    name: "a chunked POST",
    method: "POST",
    path: "/any/echo",
    headers: ["transfer-encoding", "chunked"],
    body: ["one,", "two"],
  },
  {
    name: "a POST that waits for 100",
    method: "POST",
    path: "/any/echo",
    headers: ["content-length", "7", "expect", "100-continue"],
    body: Buffer.from("waited."),
  },
  { name: "a large upload", method: "POST", path: "/any/echo", ...body(large) },
  ...[
    "repeated",
    "gzip",
    "events",
    "hints",
    "nothing",
    "unchanged",
    "elsewhere",
    "missing",
    "broken",
    "chunked",
    "large",
  ].map((kind) => ({ name: `an answer: ${kind}`, method: "GET", path: `/any/${kind}` })),
  { name: "trailers", method: "GET", path: "/any/trailers", headers: ["te", "trailers", "connection", "te"] },
  { name: "a range", method: "GET", path: "/any/range", headers: ["range", "bytes=1000-70000"] },
  { name: "repeated headers", method: "GET", path: "/any/plain", headers: ["x-a", "1", "X-A", "2", "accept", "*/*"] },
  { name: "a call that the policy denies", method: "POST", path: "/undeclared/echo", ...body(bytes) },
].map((each) => ({ ...each, headers: ["authorization", ownKey, ...(each.headers ?? [])] }));

/** Headers of the enforcement point, and of each connection. */
const ours =
  /^(via|traceparent|x-svc-authorization|x-svc-session|host|connection|te|expect|trailer|content-length|transfer-encoding): /;

/** Under the path prefix an answer's URLs and cookies are those below it. */
const belowPrefix = ({ interim, headers, ...seen }: Seen): Seen => ({
  ...seen,
  interim: interim.map(({ status, link }) => ({
    status,
    link: typeof link === "string" ? link.replace("</", "</app/") : link,
  })),
  headers: headers.map((line) =>
    line.replace(/^location: \//, "location: /app/").replace(/^set-cookie: .*/, "$&; Path=/app/any"),
  ),
});

describe.each<[string, () => Way, (seen: Seen) => Seen]>([
  ["a base address", prefix, belowPrefix],
  ["HTTP_PROXY", forwardProxy, (seen) => seen],
])("an application that is configured with %s alone, in observe mode", (_name, way, moved) => {
  test.each(requests)(
    "$name: both sides see the same as without the enforcement point, and the record says not enforced",
    async (asked) => {
      const recorded = (await decisionsOf(stand, session)).length;
      const before = upstream.arrived.length;
      const expected = moved(await whole(direct(), asked));
      expect(await unblocked(() => whole(way(), asked))).toEqual(expected);
      const [without, through, ...more] = upstream.arrived.slice(before);
      expect(more).toEqual([]);
      expect(through?.line).toBe(without?.line);
      expect(through?.body.equals(without?.body ?? Buffer.alloc(0))).toBe(true);
      const kept = (headers: readonly string[] = []) => headers.filter((line) => !ours.test(line));
      expect(kept(through?.headers)).toEqual(kept(without?.headers));
      expect(through?.headers).toContain(`authorization: ${ownKey}`);
      const isDenied = asked.path.startsWith("/undeclared");
      const rows = (await decisionsOf(stand, session)).slice(0, -recorded);
      for (const row of rows) expect(row).toMatchObject({ enforced: false, decision: isDenied ? "deny" : "allow" });
      expect(rows.length).toBeGreaterThanOrEqual(1);
      expect(through?.headers.some((line) => line.startsWith("x-svc-authorization: Bearer ey"))).toBe(!isDenied);
    },
  );
});

/** On a busy machine the control plane may time out, which blocks a call in every mode. */
async function unblocked(exchange: () => Promise<Seen>): Promise<Seen> {
  for (let time = 0; ; time++) {
    const seen = await exchange();
    if (time === 5 || !seen.headers.some((line) => line.startsWith("x-svc-blocked: "))) return seen;
  }
}

test("an enforcing upstream beside it blocks the same agent, recorded as enforced", async () => {
  const before = upstream.arrived.length;
  const strict = { url: stand.enforcementPoint.url, pathOf: (path: string) => `/strict${path}` };
  const denied = await whole(strict, { name: "", method: "GET", path: "/undeclared/plain" });
  expect(denied.status).toBe(403);
  expect(denied.headers).toContain("x-svc-blocked: policy");
  expect(upstream.arrived).toHaveLength(before);
  expect((await decisionsOf(stand, session))[0]).toMatchObject({ decision: "deny", enforced: true });
});
