import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { fuzz, type Progress } from "./src/fuzz.ts";
import type { Arrival } from "./src/recording-upstream.ts";
import { faultsOf } from "./src/request-rules.ts";
import { responseFault } from "./src/response.ts";
import { createRounds } from "./src/rounds.ts";
import { type FuzzStand, openFuzzStand } from "./src/stand.ts";
import { targets } from "./src/targets/index.ts";

describe("random input", () => {
  let stand: FuzzStand;
  beforeAll(async () => {
    stand = await openFuzzStand();
  });
  afterAll(() => stand?.stop());

  test.each(targets)(
    "$name: no crash, no hang, no upstream byte without an allow, and the decided call is the one sent",
    async (target) => {
      // A minute for all of them by `pnpm test:long`, else a round each.
      const endsMs = performance.now() + (process.env.TEST_LONG === "true" ? 15_000 : 0);
      const shouldContinue = ({ arrivals }: Progress) => arrivals <= 100 || performance.now() < endsMs;
      const result = await fuzz(stand, { targets: [target], seed: 1, shouldContinue });
      expect(result).not.toHaveProperty("faults");
      expect(result).toHaveProperty(
        "arrivals",
        expect.toSatisfy((arrivals: number) => arrivals > 100),
      );
    },
  );
});

describe("the check of what arrives upstream", () => {
  const token = (claims: object) => {
    const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
    const all = {
      ...{
        iss: "i",
        sub: "s",
        aud: "http:ledger/admin",
        scope: "docs",
        iat: 1,
        exp: 61,
        jti: "j",
        hop: 2,
        act: { sub: "s" },
      },
      ...{
        sid: "session",
        policy_version: 1,
        action_id: "a",
        taint: "trusted_internal",
        target_kind: "tool",
        privileged: false,
      },
    };
    return `Bearer ${part({ alg: "ES256", typ: "at+jwt" })}.${part({ ...all, ...claims })}.${"A".repeat(86)}`;
  };
  const arrival = (change: Partial<Arrival> = {}, claims: object = {}, more: string[] = []): Arrival => ({
    at: "ledger",
    method: "GET",
    url: "/admin",
    rawHeaders: ["host", "h", "authorization", token(claims), "x-svc-session", "session", ...more],
    body: Buffer.alloc(0),
    ...change,
  });

  test("accepts a correct request", () => expect(faultsOf(arrival(), "session")).toEqual([]));

  test.each<[string, Arrival]>([
    ["rejects no token", arrival({ rawHeaders: [] })],
    ["rejects a token that was not exchanged", arrival({}, { hop: 1, act: null, action_id: null, target_kind: null })],
    ["rejects a path with several readings", arrival({ url: "/a/%2e%2e/admin" }, { aud: "http:ledger/rest" })],
    ["rejects another tool's token", arrival({}, { aud: "http:ledger/page" })],
    ["rejects another session's token", arrival({}, { sid: "other" })],
    ["rejects a look-alike of our headers", arrival({}, {}, ["X_Svc_Session", "forged"])],
    ["rejects a repeated header of ours", arrival({}, {}, ["x-svc-session", "session"])],
    ["rejects a forwarded address", arrival({}, {}, ["X-Forwarded-For", "1"])],
    [
      "rejects a privileged call without a transaction token",
      arrival({ method: "POST", url: "/post" }, { aud: "http:ledger/post", privileged: true }),
    ],
  ])("%s", (_name, suspect) => expect(faultsOf(suspect, "session")).not.toEqual([]));

  test("judges a late call by the session of its own round", () => {
    const rounds = createRounds();
    expect([rounds.begin("first"), rounds.begin("second")]).toEqual([0, 1]);
    const named = (name: string) => arrival({ rawHeaders: ["X-Case", name, "x-svc-session", "first"] });
    expect(["case-0-7", "case-1-7", "garbled"].map((name) => rounds.sessionOf(named(name)))).toEqual([
      "first",
      "second",
      "first",
    ]);
    expect(rounds.sessionOf(arrival({ rawHeaders: [] }))).toBe("second");
  });

  test.each<[string, boolean]>([
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", true],
    ["HTTP/1.1 103 Early Hints\r\n\r\nHTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n", true],
    ["HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\ncut", true],
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n", false],
    ["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", false],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", false],
    ["HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nmore", false],
    ["HTTP/1.1 200 OK\r\nX-A\r\n\r\n", false],
    ["SSH-2.0\r\n\r\n", false],
  ])("takes the response %j as well-formed: %s", (text, isSound) =>
    expect(responseFault(text, false) === undefined).toBe(isSound),
  );
});
