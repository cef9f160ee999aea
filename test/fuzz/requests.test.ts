import { type HopClaims, importJwks, issueHopToken, KeyRefused, verificationKeyOf, verifyToken } from "@svc/tokens";
import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { ApiError } from "../../apps/control-plane/src/http/api-error.ts";
import { readForm } from "../../apps/control-plane/src/http/form.ts";
import { requirePlainPath } from "../../apps/control-plane/src/http/path.ts";
import { readQuery } from "../../apps/control-plane/src/http/query.ts";
import { answerReview, webhooks } from "../../apps/injector/src/review.ts";
import { aPod, creation, injectionOf, reviewOf } from "../../apps/injector/test/pods.ts";
import { normalAuthority } from "../../apps/pep/src/message/authority.ts";
import { readUpstreams } from "../../apps/pep/src/upstreams/upstreams-file.ts";
import { files, ledger } from "../../apps/pep/test/support/upstreams.ts";
import { issuer, makeKeyPair, nowSeconds, rootGrant } from "../../packages/tokens/test/fixtures.ts";
import { brokenJson, misshapen } from "./src/broken-json.ts";
import { mutated } from "./src/mutated-text.ts";

const runs = { numRuns: 2_000, seed: 1 };

describe("a token", async () => {
  const pair = await makeKeyPair();
  const sign = (claims: HopClaims) => issueHopToken(pair.signing, claims);
  const verify = (token: string) => verifyToken("hop", token, { keys: pair.keys, issuer, nowSeconds });

  test("does not verify after any edit", async () => {
    const token = await sign(rootGrant());
    const edits = mutated([token], [".", "=", "A", "e30", "-", "_", "+", "/", "\u0000", token, token.slice(0, 20)]);
    await fc.assert(
      fc.asyncProperty(edits, async (edited) => {
        expect((await verify(edited)).ok).toBe(edited === token);
      }),
      runs,
    );
  });

  test("with any act claim is refused, unless act is as long as hop and ends in the person, also under the issuer's signature", async () => {
    const { act } = fc.letrec<{ act: unknown }>((tie) => ({
      act: fc.oneof(
        { depthSize: "small" },
        fc.constantFrom<unknown>(null, "ana", {}, []),
        fc.record(
          { sub: fc.constantFrom<unknown>("ana", "planner", "", 1, null), act: tie("act") },
          { requiredKeys: [] },
        ),
      ),
    }));
    const narrowed = { aud: "clerk", scope: "docs", sessionId: "s", actionId: "a", targetKind: "agent" } as const;
    await fc.assert(
      fc.asyncProperty(act, fc.integer({ min: -1, max: 6 }), async (act, hop) => {
        const claims = { ...rootGrant(), ...narrowed, hop, act } as HopClaims;
        const verified = await verify(await sign(claims));
        if (!verified.ok) return;
        const subs: string[] = [];
        for (let level = verified.claims.act; level; level = level.act ?? null) subs.push(level.sub);
        expect([subs.length, subs.at(-1)]).toEqual([hop - 1, claims.sub]);
      }),
      { ...runs, numRuns: 1_000 },
    );
  });
});

test("a malformed key set gives public keys alone, each under its own kid, or is refused", async () => {
  const { verification } = await makeKeyPair();
  const { publicJwk } = await verificationKeyOf((await makeKeyPair()).signing);
  const set = { keys: [{ ...publicJwk, kid: "k1", use: "sig", alg: "ES256" }, { ...verification.publicJwk }] };
  const withPrivate = { keys: [{ ...(await makeKeyPair()).jwk, kid: "k2" }] };
  await fc.assert(
    fc.asyncProperty(misshapen(set, withPrivate), async (document) => {
      const keys = await importJwks(document).catch((error) => {
        expect(error).toBeInstanceOf(KeyRefused);
        return new Map();
      });
      for (const [kid, key] of keys) {
        expect(key.kid).toBe(kid);
        expect(Object.keys(key.publicJwk).filter((name) => !["kty", "crv", "x", "y"].includes(name))).toEqual([]);
      }
    }),
    { ...runs, numRuns: 500 },
  );
});

describe("names and values in a URL's encoding", () => {
  const texts = mutated(
    [
      "grant_type=a&resource=http%3Aledger%2Fread&scope=docs",
      "limit=50&agent=a+b&since=2026-01-01T00%3A00%3A00Z",
      "a&b=&=c",
    ],
    ["&", "=", "+", "%", "%zz", "%ff", "%00", "%26", "%3D", ";", "#", "?", "a=1&a=2", "__proto__=1", "\u00e9"],
  );
  const asEverybody = (text: string) => [...new URLSearchParams(`?${text}`)];

  test("are read from a form as URLSearchParams reads them, each once, or are refused", async () => {
    const headers = { "content-type": "application/x-www-form-urlencoded" };
    await fc.assert(
      fc.asyncProperty(texts, async (body) => {
        const form = await readForm(new Request("http://host/", { method: "POST", headers, body }));
        if (form.ok) expect([...form.fields]).toEqual(asEverybody(body));
        else expect([400, 413]).toContain(form.status);
      }),
      runs,
    );
  });

  test("are read from a query as URLSearchParams reads them, each once, or are refused", () =>
    fc.assert(
      fc.property(texts, (text) => {
        try {
          const query = Object.entries(readQuery(`http://host/v1/agents?${text}`));
          expect(new Map(query)).toEqual(new Map(asEverybody(text.split("#", 1)[0] ?? "")));
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
        }
      }),
      runs,
    ));
});

test("a path of the control plane decodes to one reading of each segment, without dots and control characters, or is refused", () =>
  fc.assert(
    fc.property(
      mutated(
        ["/v1/scopes/a%20b/catalog", "/v1/blocks/tool/mcp%3Aa%2Fb"],
        ["%", "%2e", "%2E.", "%00", "%0a", "%ff", "%c3%a9", "/", "//", "%2f", "%5c"],
      ),
      (path) => {
        const { href } = new URL(`http://host/${path}`);
        try {
          requirePlainPath(href);
        } catch (error) {
          expect(error).toBeInstanceOf(ApiError);
          return;
        }
        for (const segment of new URL(href).pathname.split("/").map(decodeURIComponent)) {
          expect(segment).not.toMatch(/^\.{1,2}$|\p{Cc}/u);
        }
      },
    ),
    runs,
  ));

test("an authority has one spelling, with the host of its URL, or is refused", () =>
  fc.assert(
    fc.property(
      mutated(
        ["ledger.internal:8443", "LEDGER.internal.", "[::1]:80", "127.0.0.1:16001"],
        ["@", ":", ".", "[", "]", "/", "%", " ", "-", "0", "\u00e9"],
      ),
      (text) => {
        const normal = normalAuthority(text);
        if (normal === undefined) return;
        expect(normalAuthority(normal)).toBe(normal);
        expect(normal).not.toMatch(/[@/?#\\%\s\p{Lu}]/u);
      },
    ),
    runs,
  ));

test("a malformed upstreams file gives HTTP upstreams with unique names and hosts, or faults", () =>
  fc.assert(
    fc.property(brokenJson({ upstreams: [ledger, files] }), (text) => {
      const read = readUpstreams(text, { defaultMode: "enforce", readFile: () => "content" });
      if (!read.ok) {
        expect(read.faults.length).toBeGreaterThan(0);
        return;
      }
      const all = [...read.upstreams.byName.values()];
      for (const { origin } of all) expect(origin).toMatch(/^https?:\/\/[^/]+$/);
      expect(read.upstreams.byHost.size).toBe(all.flatMap(({ hosts }) => hosts).length);
    }),
    runs,
  ));

test("a malformed AdmissionReview admits no new pod without its enforcement point", () =>
  fc.assert(
    fc.property(
      fc.oneof(
        brokenJson(reviewOf(creation(aPod()))),
        misshapen(reviewOf(creation(aPod()))).map((value) => JSON.stringify(value)),
      ),
      (body) => {
        const mutate = webhooks.get("/mutate");
        if (mutate === undefined) throw new Error("the webhook does not exist");
        const { status, body: answer } = answerReview(body, injectionOf(), mutate);
        if (status === 400) return;
        const { request } = JSON.parse(body);
        const { response } = answer as { response: { uid: string; allowed: boolean; patch?: string } };
        expect(response.uid).toBe(request.uid);
        const isNewPod = request.operation === "CREATE";
        if (isNewPod && response.allowed) expect(response.patch).toBeDefined();
      },
    ),
    runs,
  ));
