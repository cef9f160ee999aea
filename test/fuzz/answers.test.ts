import { generateKeyPairSync, sign } from "node:crypto";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { agentManifest, type DiscoverySource, reconcile } from "@svc/core";
import { decide } from "@svc/hop";
import { waitUntil } from "@svc/test-support";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createDiscover } from "../../apps/control-plane/src/discovery/discover.ts";
import { openIdProvider } from "../../apps/control-plane/src/identity-provider/openid-provider.ts";
import { IdentityProviderUnavailable } from "../../apps/control-plane/src/ports/identity-provider.ts";
import { listFilter } from "../../apps/pep/src/protocols/mcp/list-filter.ts";
import { createTargets } from "../../apps/pep/src/protocols/mcp/targets.ts";
import { files } from "../../apps/pep/test/support/upstreams.ts";
import { brokenJson, inPieces, misshapen } from "./src/broken-json.ts";

const runs = { numRuns: 1_000, seed: 1 };

describe("a tool list in an event stream", () => {
  const targets = createTargets(files);
  const allowed = new Map([["mcp:files/read_file", ["docs"]]]);
  const list = (names: readonly string[]) =>
    JSON.stringify({ jsonrpc: "2.0", id: 1, result: { tools: names.map((name) => ({ name })) } });
  const event = fc
    .record({
      names: fc.array(fc.constantFrom("read_file", "delete_file", "write_file", "caf\u00e9"), { maxLength: 3 }),
      before: fc.constantFrom("", ": note\n", "event: message\n", "id: 7\n", "data\n", "retry: 1\n"),
      space: fc.constantFrom("", " "),
      end: fc.constantFrom("\n\n", "\r\n\r\n", "\r\r", "\n\r\n", "\r\n\n"),
      isSplit: fc.boolean(),
    })
    .map(({ names, before, space, end, isSplit }) => {
      const text = list(names);
      // After a comma, where JSON allows white space: the lines of an event's data are joined by line feeds.
      const lines = isSplit ? text.split(/(?<="id":1,)/) : [text];
      return `${before}${lines.map((line) => `data:${space}${line}`).join("\n")}${end}`;
    });
  const streams = fc.array(event, { minLength: 1, maxLength: 3 }).map((events) => events.join(""));

  const pass = (pieces: readonly Buffer[]): string => {
    const context = { targets, allowed, id: 1, mayList: true };
    const filter = listFilter(context, 200, ["content-type", "text/event-stream"]);
    if (!filter || "body" in filter) throw new Error("event streams are filtered");
    return Buffer.concat([...pieces.map((piece) => filter.push(piece)), filter.end()]).toString("utf8");
  };
  /** By an independent parser (HTML standard: Server-sent events). */
  const toolsIn = (text: string): readonly string[] =>
    text
      .replace(/\r\n?/g, "\n")
      .split("\n\n")
      .map((event) => event.split("\n").filter((line) => line.startsWith("data")))
      .map((lines) => lines.map((line) => line.replace(/^data:? ?/, "")))
      .filter((data) => data.some((line) => line !== ""))
      .flatMap((data) => JSON.parse(data.join("\n")).result.tools.map(({ name }: { name: string }) => name));

  test("shows exactly the allowed tools, in any spelling and any chunks", () =>
    fc.assert(
      fc.property(
        streams.chain((stream) =>
          inPieces(Buffer.from(stream).toString("latin1")).map((pieces) => ({ stream, pieces })),
        ),
        ({ stream, pieces }) => {
          const shown = toolsIn(pass(pieces.map((piece) => Buffer.from(piece, "latin1"))));
          expect(shown).toEqual(toolsIn(stream).filter((name) => name === "read_file"));
        },
      ),
      runs,
    ));
});

describe("a malformed response of a discovery source gives references of its own, which a report can hold, or counts as unavailable", () => {
  const answers = new Map<string, string>();
  const server = createServer((request, response) => {
    const [, key = ""] = /^\/(\w+\/\d+)/.exec(request.url ?? "") ?? [];
    let body = "";
    request.on("data", (chunk) => {
      body += chunk;
    });
    request.on("end", () => {
      const asked: { id?: number; method?: string } = body === "" ? {} : JSON.parse(body);
      if (request.method === "POST" && asked.id === undefined) return response.writeHead(202).end();
      const text = (answers.get(key) ?? "").replace('"{id}"', String(asked.id));
      const openings: Readonly<Record<string, string>> = { initialize: welcome(asked.id), "server/discover": refusal };
      response.writeHead(200, { "content-type": "application/json" }).end(openings[asked.method ?? ""] ?? text);
    });
  });
  const welcome = (id: number | undefined) =>
    JSON.stringify({
      jsonrpc: "2.0",
      id,
      result: { protocolVersion: "2025-06-18", capabilities: { tools: {} }, serverInfo: { name: "x", version: "1" } },
    });
  /** A server of an earlier revision. */
  const refusal = JSON.stringify({
    jsonrpc: "2.0",
    id: "server-discover-probe-1",
    error: { code: -32601, message: "no" },
  });
  let origin: string;
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
    origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });

  const documents = {
    http: {
      tools: [{ ref: "http:a/b", data_classes: ["docs"], privileged: true, access: "write" }],
      downstream_agents: ["a"],
    },
    a2a: {
      name: "clerk",
      version: "1",
      skills: [{ id: "read", name: "r", description: "", tags: [] }],
      capabilities: {},
    },
    mcp: {
      jsonrpc: "2.0",
      id: "{id}",
      result: { tools: [{ name: "read", inputSchema: { type: "object" }, annotations: { destructiveHint: true } }] },
    },
  } as const;
  const manifest = agentManifest.parse({ scopes: { any: { hop_budget: 1 } } });
  const prefixes = { http: "", a2a: "a2a:own/", mcp: "mcp:own/" } as const;

  test.each(["http", "a2a", "mcp"] as const)("%s", async (kind) => {
    const texts = fc.oneof(
      brokenJson(documents[kind]),
      misshapen(documents[kind]).map((value) => JSON.stringify(value)),
    );
    const sources = fc.sample(texts, { numRuns: 150, seed: 1 }).map((text, at): DiscoverySource => {
      answers.set(`${kind}/${at}`, text);
      return { kind, name: "own", url: `${origin}/${kind}/${at}` };
    });
    const allowed = [{ kind: "network", network: "127.0.0.0", prefix: 8 }] as const;
    // Sources that do not respond take this long, and on a busy machine it may be too short for all.
    const discover = createDiscover({ allowed, timeoutMs: 6_000 });
    const found = await waitUntil("some sources to be read", async () => {
      const all = await discover(sources);
      return all.some(({ discovered }) => discovered.ok) && all;
    });
    for (const { discovered } of found) {
      if (!discovered.ok) expect(discovered.remedy).not.toBe("");
      else
        for (const { ref } of discovered.tools) {
          expect(ref.startsWith(prefixes[kind]), ref).toBe(true);
        }
    }
    const refs = reconcile(manifest, found, false).diff.map((entry) => entry.ref);
    expect(refs.filter((ref) => !ref.isWellFormed() || /[\p{Cc}\p{Cf}]/u.test(ref) || ref.length > 512)).toEqual([]);
  });
});

test("with a malformed response of an OpenID provider, a token names its own subject or none, or the provider counts as unavailable", async () => {
  const [issuer, audience, nonce, nowMs] = ["https://idp.test/tenant", "agents", "thumbprint", 1_900_000_000_000];
  const { publicKey, privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const part = (value: object) => Buffer.from(JSON.stringify(value)).toString("base64url");
  const claims = { iss: issuer, sub: "ada", aud: audience, nonce, iat: nowMs / 1000, exp: nowMs / 1000 + 300 };
  const signed = `${part({ alg: "ES256", kid: "k1" })}.${part(claims)}`;
  const signature = sign("sha256", Buffer.from(signed), { key: privateKey, dsaEncoding: "ieee-p1363" });
  const idToken = `${signed}.${signature.toString("base64url")}`;
  const metadata = { issuer, jwks_uri: "https://idp.test/keys" };
  const keys = { keys: [{ ...publicKey.export({ format: "jwk" }), kid: "k1", alg: "ES256", use: "sig" }] };
  const answer = (document: object) =>
    fc.oneof(
      { weight: 2, arbitrary: fc.constant(JSON.stringify(document)) },
      { weight: 1, arbitrary: brokenJson(document) },
      { weight: 1, arbitrary: misshapen(document).map((value) => JSON.stringify(value)) },
    );
  await fc.assert(
    fc.asyncProperty(answer(metadata), answer(keys), async (metadataText, keysText) => {
      const fetch = async (input: string | URL | Request) => {
        const url = String(input instanceof Request ? input.url : input);
        const text = url.endsWith("/openid-configuration") ? metadataText : keysText;
        return new Response(text, { headers: { "content-type": "application/json" } });
      };
      const provider = openIdProvider({ issuer: new URL(issuer), audience, clock: { nowMs: () => nowMs }, fetch });
      try {
        expect([undefined, { issuer, subject: "ada" }]).toContainEqual(await provider.principalOf(idToken, nonce));
      } catch (error) {
        expect(error).toBeInstanceOf(IdentityProviderUnavailable);
      }
    }),
    runs,
  );
});

test("a malformed decision of the control plane allows the requested call or none", async () => {
  const asked = { target: "http:ledger/read", targetKind: "tool", dataClass: "docs" } as const;
  const allow = {
    action_id: "01a2215d-9d83-7402-9ee8-eeff0a7e9861",
    decision: "allow",
    deny_reason: null,
    recoverable: false,
    enforced: true,
    hop: 2,
    acting_agent: "clerk",
    target: asked.target,
    target_kind: asked.targetKind,
    data_class: asked.dataClass,
    privileged: false,
    transaction_required: false,
    taint: "trusted_internal",
    taint_source: null,
    policy_version: 1,
    guarantee_level: "network",
    decided_at: "2026-01-01T00:00:00.000Z",
  };
  const bodies = fc.oneof(
    brokenJson(allow),
    misshapen(allow).map((value) => JSON.stringify(value)),
  );
  await fc.assert(
    fc.asyncProperty(bodies, async (body) => {
      const transport = { send: async () => ({ status: 200, headers: {}, body }) };
      const credential = { sessionId: "s", token: "t" };
      const result = await decide({ transport, monotonicMs: () => 0 }, credential, asked, { deadlineMs: 1_000 });
      if (result.kind !== "decided" || result.decision.outcome !== "allow") return;
      expect(result.decision).toMatchObject({ ...asked, enforced: true, actionId: expect.stringMatching(/./) });
    }),
    runs,
  );
});
