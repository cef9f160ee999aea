import { createConsole } from "../src/index.ts";
import type { ConsolePorts, ConsoleReads, Listed, Refusal, Viewer } from "../src/ports.ts";

/** One page without rows. */
const none: Listed<never> = { rows: [], next: undefined, nextCursor: null };

/** The reads of a service in which nothing has happened. */
export const fakeReads = (): ConsoleReads => ({
  decisions: async () => none,
  search: async () => [],
  sessionTotals: async () => ({
    ...{ decisions: 0, longestChain: 0, denied: 0, observed: 0, tools: 0, agents: 0, spentTokens: 0 },
    ...{ firstMs: null, lastMs: null },
  }),
  sessionFamily: async () => [],
  evidence: async () => ({ status: "unsealed" }),
  countDecisions: async () => [],
  countCalls: async () => [],
  countPeople: async () => [],
  observedByScope: async () => [],
  wouldBlocks: async () => none,
  action: async () => undefined,
  sessions: async () => none,
  session: async () => undefined,
  agents: async () => none,
  agent: async () => undefined,
  manifestVersions: async () => none,
  acceptedManifests: async () => new Map(),
  scopes: async () => none,
  policy: async () => undefined,
  policiesOfAgent: async () => [],
  policiesOfTool: async () => [],
  definitionTexts: async () => new Map(),
  blocks: async () => [],
  blocksOf: async () => [],
  revokedAgents: async () => none,
  revokedSessions: async () => [],
  events: async () => none,
  countActiveSessions: async () => 0,
  sealState: async () => ({ sealedAtMs: null, unsealed: 0, oldestUnsealedMs: null }),
  failingChecks: async () => [],
});

/** Tokens of two viewers. */
export const tokens = { audit: "audit-reader-token-0123456789abcdef", admin: "admin-token-0123456789abcdef" } as const;
const viewers: Readonly<Record<string, Viewer>> = {
  [tokens.audit]: { plane: "audit", label: "auditor", id: "audit-id" },
  [tokens.admin]: { plane: "admin", label: "alice", id: "admin-id" },
};

/** A refusal that a port throws. */
export class Refused extends Error implements Refusal {
  readonly code: string;
  readonly status: Refusal["status"];
  readonly headers: NonNullable<Refusal["headers"]>;

  constructor(code: string, status: Refusal["status"], headers: NonNullable<Refusal["headers"]> = {}) {
    super(`refused: ${code}`);
    this.code = code;
    this.status = status;
    this.headers = headers;
  }
}

export const fakePorts = (changes: Partial<ConsolePorts> = {}): ConsolePorts => ({
  reads: fakeReads(),
  clock: { nowMs: () => Date.now() },
  version: "1.2.3",
  issuer: "https://authz.example.com",
  traceUrl: undefined,
  signIn: { key: new Uint8Array(32).fill(1), holders: Object.values(viewers), isSecure: false },
  people: undefined,
  viewerOf: (token) => viewers[token],
  countCall: async () => {},
  readQuery: (url) => Object.fromEntries(new URL(url).searchParams),
  readForm: async (request) => new Map(new URLSearchParams(await request.text())),
  refusalOf: (thrown) => (thrown instanceof Refused ? thrown : new Refused("internal", 500)),
  ...changes,
});

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

const cookieIn = ({ headers }: Seen): string => (headers.get("set-cookie") ?? "").split(";")[0] ?? "";

/** Sends what a browser would. */
export function visitor(changes: Partial<ConsolePorts> = {}) {
  const app = createConsole(fakePorts(changes));
  const request = async (path: string, init: RequestInit = {}): Promise<Seen> => {
    const response = await app.request(path, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const post = (path: string, form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
    request(path, {
      method: "POST",
      body: new URLSearchParams(form),
      headers: { "sec-fetch-site": "same-origin", ...headers },
    });
  const signIn = (token: string, next = "/console") => post("/console/sign-in", { token, next });
  const cookieOf = async (token: string = tokens.audit): Promise<string> => cookieIn(await signIn(token));
  return {
    request,
    post,
    signIn,
    cookieOf,
    /** With the cookie of a sign-in. */
    look: async (path: string, token: string = tokens.audit): Promise<Seen> =>
      request(path, { headers: { cookie: await cookieOf(token) } }),
  };
}
