import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { importJWK, jwtVerify, SignJWT } from "jose";
import postgres from "postgres";
import { createClient } from "redis";

/**
 * A naive first version: jose, one query for each fact, one insert for each record, no cache and no batches. It
 * verifies, decides, commits a record, spends once and signs, like the real one, and serves as a comparison.
 */
const { PORT, DATABASE_URL = "", REDIS_URL = "", ISSUER_JWK = "" } = process.env;
const jwk = JSON.parse(ISSUER_JWK);
const [privateKey, publicKey] = [await importJWK(jwk, "ES256"), await importJWK({ ...jwk, d: undefined }, "ES256")];
const sql = postgres(DATABASE_URL, { max: 20 });
const redis = await createClient({ url: REDIS_URL }).connect();
const app = new Hono();

app.post("/authorize", async (context) => {
  const claims = await verified(context.req.header("authorization")?.slice("Bearer ".length) ?? "");
  const { session_id, target, data_class } = await context.req.json();
  if (claims.sid !== session_id) return context.json({ error: "unauthorized" }, 401);
  const [session] =
    await sql`select scope, policy_version, expires_at, revoked_at from reference_session where session_id = ${session_id}`;
  const [revoked] = await sql`select 1 from reference_revocation where agent = ${String(claims.aud)}`;
  const [policy] = await sql`
    select document from reference_policy where scope = ${session?.scope} and version = ${session?.policy_version}`;
  const tool = policy?.document.tools.find((one: { ref: string }) => one.ref === target);
  const isAllowed =
    session !== undefined &&
    session.revoked_at === null &&
    session.expires_at > new Date() &&
    revoked === undefined &&
    tool?.data_classes.includes(data_class) === true;
  const action_id = crypto.randomUUID();
  await sql`
    insert into reference_decision (action_id, session_id, acting_agent, target, data_class, hop, decision, decided_at)
    values (${action_id}, ${session_id}, ${String(claims.aud)}, ${target}, ${data_class}, ${Number(claims.hop)},
      ${isAllowed ? "allow" : "deny"}, now())`;
  return context.json({ action_id, decision: isAllowed ? "allow" : "deny" });
});

app.post("/exchange", async (context) => {
  const form = await context.req.parseBody();
  const claims = await verified(String(form.subject_token));
  const [allow] = await sql`select * from reference_decision where action_id = ${String(form.action_id)}`;
  const [session] =
    await sql`select revoked_at, expires_at from reference_session where session_id = ${String(claims.sid)}`;
  if (allow?.decision !== "allow" || allow.target !== form.resource || session?.revoked_at !== null)
    return context.json({ error: "invalid_grant" }, 400);
  if ((await redis.set(`jti:${claims.jti}`, "1", { condition: "NX", expiration: { type: "EX", value: 120 } })) === null)
    return context.json({ error: "invalid_grant" }, 400);
  await sql`insert into reference_spend (jti, action_id) values (${String(claims.jti)}, ${allow.action_id})`;
  const access_token = await new SignJWT({
    ...claims,
    aud: String(form.resource),
    scope: String(form.scope),
    hop: Number(claims.hop) + 1,
    act: { sub: claims.aud, act: claims.act },
    action_id: allow.action_id,
    jti: crypto.randomUUID(),
  })
    .setProtectedHeader({ alg: "ES256", typ: "at+jwt" })
    .setIssuedAt()
    .setExpirationTime("60s")
    .sign(privateKey);
  return context.json({ access_token, token_type: "Bearer", expires_in: 60 });
});

const verified = async (token: string) => (await jwtVerify(token, publicKey, { typ: "at+jwt" })).payload;

serve({ fetch: app.fetch, port: Number(PORT), hostname: "127.0.0.1" }, () => process.send?.("listening"));
process.once("disconnect", () => process.exit());
