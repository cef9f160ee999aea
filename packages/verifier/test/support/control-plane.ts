import { toJwks, type VerificationKey } from "@svc/tokens";
import nock from "nock";
import { onTestFinished } from "vitest";

export interface Identity {
  status: "none" | "enrolled" | "quarantined" | "revoked";
  keys: Pick<VerificationKey, "kid" | "publicJwk">[];
  anchorVersion?: number;
  asOf?: string;
}

let planes = 0;

/** The routes a verifier reads, scripted; a test changes their responses, also to some that no real server gives. */
export function controlPlane() {
  const url = `http://control-plane-${++planes}.test`;
  if (!nock.isActive()) nock.activate();
  // A request that no test scripted fails.
  nock.disableNetConnect();
  onTestFinished(() => {
    nock.cleanAll();
    nock.enableNetConnect();
    nock.restore();
  });
  const state = {
    jwks: { keys: [] } as object,
    revoked: [] as string[],
    asOf: "2026-01-01T00:00:00.000Z",
    identities: new Map<string, Identity>(),
    /** The status of every response while set. */
    failure: undefined as number | undefined,
    /** The body of every response while set. */
    text: undefined as string | undefined,
    /** Awaited before each response. */
    gate: undefined as Promise<void> | undefined,
    pageSize: 200,
    requests: [] as { path: string; query: URLSearchParams; authorization: string | null }[],
  };

  const respond = ({ url: address, headers }: Request): { status: number; body: unknown } => {
    const { pathname, searchParams } = new URL(address);
    state.requests.push({ path: pathname, query: searchParams, authorization: headers.get("authorization") });
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

  nock(url)
    .persist()
    .get(/./)
    .reply(async (request: Request) => {
      const { status, body } = respond(request);
      await state.gate;
      return [status, state.text ?? JSON.stringify(body), { "content-type": "application/json" }];
    });
  const count = (path: string) => state.requests.filter((request) => request.path === path).length;
  return { ...{ state, url, count }, jwksUrl: `${url}/.well-known/jwks.json` };
}
