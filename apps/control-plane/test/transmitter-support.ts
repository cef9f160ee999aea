import { aManifest, aTool, waitUntil } from "@svc/test-support";
import { createLocalJWKSet, type JSONWebKeySet, jwtVerify } from "jose";
import { type Json, query, registerAgent, type Sent, startPlane } from "./support.ts";

/** The bearers of two receivers. */
export const gateway = "gateway-identity-token-0123456789abcdef";
export const other = "another-identity-token-0123456789abcdef";

/** What a receiver asks to be sent with each event. */
export const receiverHeader = "Bearer of-the-receiver";

export const push = { method: "urn:ietf:rfc:8935", endpoint_url: "https://receiver.example/events" };

export const sessionOf = (claims: Json | undefined): string => String(claims?.sub_id?.session?.id);

/** A control plane with receivers of its events, and an agent whose sessions end. */
export async function startTransmitter() {
  const plane = await startPlane({
    SVC_IDENTITY_TOKEN: `gateway=${gateway},other=${other}`,
    SVC_DISCOVERY_ALLOW: "127.0.0.1",
  });
  await registerAgent(plane, "reader", aManifest("expenses", { tools: [aTool("http:ledger/read")] }));
  const sql = (text: string, values: string[] = []) =>
    query<Record<string, unknown>>(plane.database.ownerUrl, text, values);
  const signals = (path: string, sent: Sent = {}) => plane.send(`/v1/signals${path}`, { token: gateway, ...sent });
  const streams = (method: string, body?: object, more: Sent = {}) =>
    signals("/streams", { method, ...(body !== undefined && { body }), ...more });

  /** Events wait for every transaction that began before theirs, on the whole server, which other tests use too. */
  async function settled(): Promise<void> {
    const [now] = await sql("select pg_current_xact_id()::text as id");
    const isOver = "select pg_snapshot_xmin(pg_current_snapshot()) > $1::xid8 as over";
    await waitUntil(
      "earlier transactions to end",
      async () => (await sql(isOver, [String(now?.id)]))[0]?.over === true,
    );
  }

  async function endSession(userSub = "ada"): Promise<string> {
    const { json } = await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: userSub } });
    await plane.send(`/v1/sessions/${json.session_id}/revoke`, { body: {} });
    return String(json.session_id);
  }

  return {
    ...{ plane, sql, signals, streams, settled, endSession },
    async create(body: object = {}): Promise<Json> {
      await settled();
      return (await streams("POST", body)).json;
    },
    async endedSession(userSub?: string): Promise<string> {
      const session = await endSession(userSub);
      await settled();
      return session;
    },
    /** As a receiver checks a token, by what is published. */
    async verified(token: string, audience = "gateway") {
      const { json } = await plane.send("/.well-known/jwks.json", { token: "" });
      const keys = createLocalJWKSet(json as unknown as JSONWebKeySet);
      const options = { issuer: "https://plane.test", audience, typ: "secevent+jwt", algorithms: ["ES256"] };
      return (await jwtVerify(token, keys, options)).payload as Json;
    },
    deleteStreams: () => sql("delete from signal_stream"),
    stop: () => plane.stop(),
  };
}
