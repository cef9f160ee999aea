import { waitUntil } from "@svc/test-support";
import { decodeProtectedHeader } from "jose";
import type { Api, Hop } from "./api.ts";

export interface ListedKey {
  readonly kid: string;
  readonly status: "next" | "active" | "superseded";
}

const admin = (api: Api) => ({ bearer: api.tokens.admin });
export const listKeys = async (api: Api): Promise<ListedKey[]> =>
  (await api.call("GET", "/v1/keys", admin(api))).body.data;
export const kidOf = async (api: Api, status: ListedKey["status"]) =>
  (await listKeys(api)).find((key) => key.status === status)?.kid;
export const rotate = (api: Api, body?: object) =>
  api.call("POST", "/v1/keys/rotate", { ...admin(api), ...(body && { body }) });
export const remove = (api: Api, kid: string) => api.call("DELETE", `/v1/keys/${kid}`, admin(api));
export const raiseEpoch = (api: Api, body?: object) =>
  api.call("POST", "/v1/issuer-epoch", { ...admin(api), ...(body && { body }) });

export const published = async (api: Api): Promise<string[]> =>
  (await api.call("GET", "/.well-known/jwks.json")).body.keys.map(({ kid }: ListedKey) => kid);
/** Waits until each process publishes exactly these keys. */
export const publishedBy = (apis: readonly Api[], ...kids: readonly string[]) =>
  waitUntil(`${kids.length} keys to be published everywhere`, async () => {
    const sets = await Promise.all(apis.map(published));
    return sets.every((set) => set.toSorted().join() === kids.toSorted().join());
  });

export const signerOf = (token: string) => decodeProtectedHeader(token).kid;

/** The response of each endpoint that takes a hop token. */
export async function answersTo(api: Api, session: string, token: string, hop: Hop): Promise<string[]> {
  const answers = [
    await api.authorize(session, token, hop),
    await api.exchange(token, hop, "01a00000-0000-7000-8000-000000000000"),
    await api.renew(token, 1),
    await api.call("GET", "/v1/session/targets", { bearer: token }),
  ];
  return answers.map(({ status, body }) => `${status} ${body.error?.code ?? body.error}`);
}
/** 401 by all of them, by the exchange in OAuth's shape. */
export const refusedByAll = ["401 unauthorized", "400 invalid_request", "401 unauthorized", "401 unauthorized"];
