export interface Reply<Body> {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** Parsed JSON, taken for what the caller expects of it: read `status` first. */
  readonly body: Body;
}

export interface Call {
  readonly method?: "GET" | "POST" | "PUT" | "DELETE";
  readonly bearer?: string | undefined;
  readonly headers?: Readonly<Record<string, string>>;
  readonly json?: object;
  readonly form?: Readonly<Record<string, string>>;
}

/**
 * One call and its JSON answer; `{}` where the answer is no JSON. The method defaults to what the body suggests. By
 * Node's own fetch: loading undici would take most of the time of a command that asks once.
 */
export async function call<Body>(
  url: string,
  { bearer, headers, json, form, method }: Call = {},
): Promise<Reply<Body>> {
  const content = json ? "application/json" : "application/x-www-form-urlencoded";
  const sent = json ? JSON.stringify(json) : form && new URLSearchParams(form).toString();
  const reply = await fetch(url, {
    redirect: "manual",
    method: method ?? (sent === undefined ? "GET" : "POST"),
    headers: {
      ...headers,
      ...(bearer === undefined ? {} : { authorization: `Bearer ${bearer}` }),
      ...(sent === undefined ? {} : { "content-type": content }),
    },
    ...(sent === undefined ? {} : { body: sent }),
  });
  const text = await reply.text();
  return { status: reply.status, headers: Object.fromEntries(reply.headers), body: parsed(text) as Body };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return {};
  }
}
