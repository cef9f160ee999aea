import { testBearers } from "@svc/test-support";
import { type Answer, ask } from "./ask.ts";

export interface Hop {
  readonly target: string;
  readonly target_kind: "tool" | "agent";
  readonly data_class: string;
}

export interface Session {
  readonly id: string;
  readonly token: string;
}

const jsonType = { "content-type": "application/json" };

/** @param send by default directly to `url` */
export function createAdmin(url: string, send: typeof ask = ask) {
  const json = (method: string, path: string, bearer: string | undefined, body?: unknown): Promise<Answer> =>
    send(url, path, {
      method,
      headers: {
        ...(bearer !== undefined && { authorization: `Bearer ${bearer}` }),
        ...(body !== undefined && jsonType),
      },
      ...(body !== undefined && { body: JSON.stringify(body) }),
    });
  const authorize = ({ id, token }: Session, hop: Hop, more: object = {}) =>
    json("POST", "/v1/authorize", token, { session_id: id, ...hop, ...more });
  const exchange = (
    { token }: Session,
    { target, data_class }: Hop,
    actionId: string,
    more: Record<string, string> = {},
  ) =>
    send(url, "/v1/token/exchange", {
      method: "POST",
      headers: { "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({
        grant_type: "urn:ietf:params:oauth:grant-type:token-exchange",
        subject_token_type: "urn:ietf:params:oauth:token-type:jwt",
        subject_token: token,
        resource: target,
        scope: data_class,
        action_id: actionId,
        ...more,
      }).toString(),
    });
  return {
    url,
    json,
    authorize,
    exchange,
    get: (path: string, bearer: string = testBearers.admin) => json("GET", path, bearer),
    post: (path: string, body?: unknown, bearer: string = testBearers.admin) => json("POST", path, bearer, body),
    /** Registers an agent without discovery. */
    register: (name: string, scopes: object, reason = "a test") =>
      json("POST", "/v1/agents", testBearers.admin, { name, manifest: { scopes }, override: { reason } }),
    async consent(scope: string, user_sub: string): Promise<Session> {
      const { json: body } = await json("POST", "/v1/consent", testBearers.admin, { scope, user_sub });
      return { id: body.session_id, token: body.root_grant };
    },
    /** Decides and exchanges: the session as the target sees it. */
    async delegate(session: Session, hop: Hop): Promise<Session & { action: string }> {
      const action = (await authorize(session, hop)).json.action_id;
      return { id: session.id, token: (await exchange(session, hop, action)).json.access_token, action };
    },
  };
}
