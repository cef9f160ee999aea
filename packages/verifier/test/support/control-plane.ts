import { once } from "node:events";
import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { toJwks, type VerificationKey } from "@svc/tokens";
import { onTestFinished } from "vitest";

export interface Identity {
  status: "none" | "enrolled" | "quarantined" | "revoked";
  keys: Pick<VerificationKey, "kid" | "publicJwk">[];
  anchorVersion?: number;
  asOf?: string;
}

/** The routes a verifier reads, on loopback; a test changes what they say. */
export async function controlPlane() {
  const state = {
    jwks: { keys: [] } as object,
    revoked: [] as string[],
    asOf: "2026-01-01T00:00:00.000Z",
    identities: new Map<string, Identity>(),
    /** Answered in place of everything while set. */
    failure: undefined as number | undefined,
    /** Awaited before each answer. */
    gate: undefined as Promise<void> | undefined,
    pageSize: 200,
    requests: [] as { path: string; query: URLSearchParams; authorization: string | undefined }[],
  };

  const answer = (request: IncomingMessage): { status: number; body: unknown } => {
    const { pathname, searchParams } = new URL(request.url ?? "", "http://localhost");
    state.requests.push({ path: pathname, query: searchParams, authorization: request.headers.authorization });
    if (state.failure !== undefined) return { status: state.failure, body: {} };
    if (pathname === "/.well-known/jwks.json") return { status: 200, body: state.jwks };
    if (pathname === "/v1/identity/revocations") return { status: 200, body: revocations(searchParams) };
    const name = /^\/v1\/identity\/agents\/([^/]+)$/.exec(pathname)?.[1];
    const identity = name === undefined ? undefined : state.identities.get(name);
    return identity ? { status: 200, body: identityOf(name ?? "", identity) } : { status: 404, body: {} };
  };

  const revocations = (query: URLSearchParams) => {
    const from = Number(query.get("cursor") ?? 0);
    const to = from + state.pageSize;
    const data = state.revoked.slice(from, to).map((agent) => ({ agent_id: `id-${agent}`, agent, as_of: state.asOf }));
    const next_cursor = to < state.revoked.length ? String(to) : null;
    return { data, page: { next_cursor, limit: state.pageSize }, as_of: state.asOf };
  };

  const identityOf = (agent: string, { status, keys, anchorVersion = 1, asOf = state.asOf }: Identity) => ({
    agent_id: `id-${agent}`,
    agent,
    status,
    anchor_version: anchorVersion,
    jwks: toJwks(keys),
    revoked: status === "revoked",
    revoked_reason: null,
    as_of: asOf,
  });

  const server = createServer(async (request, response) => {
    const { status, body } = answer(request);
    await state.gate;
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(body));
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const count = (path: string) => state.requests.filter((request) => request.path === path).length;
  return { ...{ state, url, count }, jwksUrl: `${url}/.well-known/jwks.json` };
}
