/** The control plane over plain HTTP, without our client. */
export interface Answer {
  readonly status: number;
  readonly headers: Headers;
  // biome-ignore lint/suspicious/noExplicitAny: a black-box test reads any response.
  readonly body: any;
  readonly text: string;
}

export interface Tokens {
  readonly admin: string;
  readonly audit: string;
  readonly identity: string;
  readonly enforcement: string;
}

export type Api = ReturnType<typeof createApi>;

export const exchangeGrant = {
  grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
  subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
};

export interface Hop {
  readonly target: string;
  readonly target_kind: "tool" | "agent";
  readonly data_class: string;
}

/** A line of `POST /v1/hops`. */
export interface HopLine extends Hop {
  readonly session_id: string;
  readonly token: string;
  readonly body_settled: boolean;
  readonly [more: string]: unknown;
}

export interface HopAnswer {
  readonly line: number;
  readonly authorize?: Embedded;
  readonly exchange?: Embedded;
  readonly sibling?: { readonly token: string; readonly expires_in: number };
  readonly stages?: { readonly decide: number; readonly exchange?: number };
}

interface Embedded {
  readonly status: number;
  // biome-ignore lint/suspicious/noExplicitAny: a black-box test reads any response.
  readonly body: any;
  readonly retry_after?: string;
}

export interface CallInit {
  readonly bearer?: string;
  readonly body?: unknown;
  readonly raw?: RequestInit;
}

/** One request and its response. */
export interface Call {
  readonly method: string;
  readonly path: string;
  readonly init: CallInit;
  readonly answer: Answer;
}

/**
 * The code of a refusal in either error shape (docs/reference/conventions.md#errors); undefined for a success.
 */
export const refusalCode = ({ body }: Partial<Pick<Answer, "status">> & Pick<Answer, "body">): string | undefined =>
  typeof body?.error === "string" ? body.error : body?.error?.code;

export function createApi(url: string, tokens: Tokens) {
  const calls: Call[] = [];
  async function call(method: string, path: string, init: CallInit = {}) {
    const headers = new Headers(init.raw?.headers);
    if (init.bearer !== undefined) headers.set("authorization", `Bearer ${init.bearer}`);
    if (init.body !== undefined) headers.set("content-type", "application/json");
    const response = await fetch(`${url}${path}`, {
      method,
      redirect: "manual",
      ...init.raw,
      headers,
      ...(init.body !== undefined && { body: JSON.stringify(init.body) }),
    });
    const answer = await read(response);
    calls.push({ method, path, init, answer });
    return answer;
  }
  const exchangeForm = (fields: Record<string, string>) =>
    call("POST", "/v1/token/exchange", {
      raw: {
        body: new URLSearchParams(fields).toString(),
        headers: { "content-type": "application/x-www-form-urlencoded" },
      },
    });
  const authorize = (session: string, token: string, hop: Hop, more: Record<string, unknown> = {}) =>
    call("POST", "/v1/authorize", { bearer: token, body: { session_id: session, ...hop, ...more } });
  const exchange = (token: string, hop: Pick<Hop, "target" | "data_class">, actionId: string, more = {}) =>
    exchangeForm({
      ...exchangeGrant,
      subject_token: token,
      resource: hop.target,
      scope: hop.data_class,
      action_id: actionId,
      ...more,
    });
  const hopLines = (text: string, type = "application/x-ndjson") =>
    call("POST", "/v1/hops", { raw: { body: text, headers: { "content-type": type } } });
  return {
    url,
    tokens,
    hopLines,
    /** The answers in the order of the lines. */
    hops: async (lines: readonly HopLine[]): Promise<readonly HopAnswer[]> => {
      const { status, text } = await hopLines(lines.map((line) => `${JSON.stringify(line)}\n`).join(""));
      if (status !== 200) throw new Error(`hops: ${status} ${text}`);
      const answers = text
        .trimEnd()
        .split("\n")
        .map((line) => JSON.parse(line) as HopAnswer);
      return answers.toSorted((a, b) => a.line - b.line);
    },
    /** Every call so far, in the order of the responses. */
    calls: calls as readonly Call[],
    call,
    exchangeForm,
    authorize,
    exchange,
    /** Registers an agent without discovery: an override accepts the manifest. */
    attest: (name: string, scopes: Record<string, unknown>) =>
      call("POST", "/v1/agents", {
        bearer: tokens.admin,
        body: { name, manifest: { scopes }, override: { reason: "a test" } },
      }),
    consent: async (scope: string, more: Record<string, unknown> = {}) => {
      const { status, body } = await call("POST", "/v1/consent", {
        bearer: tokens.admin,
        body: { scope, user_sub: "ada", ...more },
      });
      if (status !== 201) throw new Error(`consent to ${scope}: ${status} ${JSON.stringify(body)}`);
      return { session: body.session_id as string, token: body.root_grant as string, body };
    },
    /** Decides (again while the record is unavailable) and exchanges; throws where either is refused. */
    hop: async (session: string, token: string, hop: Hop) => {
      const decision = await whenDecided(() => authorize(session, token, hop));
      if (decision.body?.decision !== "allow") throw new Error(`authorize: ${decision.text}`);
      const grant = await exchange(token, hop, decision.body.action_id);
      if (grant.status !== 200) throw new Error(`exchange: ${grant.text}`);
      return { token: grant.body.access_token as string, action: decision.body.action_id as string };
    },
    renew: (token: string, count: number) => call("POST", "/v1/token/renew", { bearer: token, body: { count } }),
    mint: (token: string, actionId: string, params: unknown) =>
      call("POST", "/v1/token/transaction", { bearer: token, body: { action_id: actionId, params } }),
    decisions: (query: string) => call("GET", `/v1/audit/decisions?${query}`, { bearer: tokens.audit }),
    chain: (actionId: string) => call("GET", `/v1/audit/actions/${actionId}/chain`, { bearer: tokens.audit }),
  };
}

/**
 * Repeats while the response is 503: sixty parallel calls on a busy machine can exceed the replay guard's deadline, and
 * the suite judges the final result.
 */
export async function whenDecided(ask: () => Promise<Answer>): Promise<Answer> {
  for (let tries = 1; ; tries++) {
    const answer = await ask();
    if (answer.status !== 503 || tries === 50) return answer;
  }
}

async function read(response: Response): Promise<Answer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, body: parse(text) };
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
