import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { Agent, request } from "undici";

/** The naive enforcement point: decide, exchange, forward, each awaited, with undici's defaults. */
const [controlPlane = "", upstream = ""] = process.argv.slice(2);
const dispatcher = new Agent({ connections: 64 });
const app = new Hono();

app.get("/*", async (context) => {
  const token = context.req.header("authorization")?.slice("Bearer ".length) ?? "";
  const session_id = context.req.header("x-svc-session");
  const [target, data_class] = ["http:bench/read", "bench"];
  const decided = await request(`${controlPlane}/authorize`, {
    dispatcher,
    method: "POST",
    headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
    body: JSON.stringify({ session_id, target, target_kind: "tool", data_class }),
  });
  const decision = (await decided.body.json()) as { decision: string; action_id: string };
  if (decision.decision !== "allow") return context.json({ error: "denied" }, 403);
  const exchanged = await request(`${controlPlane}/exchange`, {
    dispatcher,
    method: "POST",
    headers: { "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({
      subject_token: token,
      resource: target,
      scope: data_class,
      action_id: decision.action_id,
    }).toString(),
  });
  if (exchanged.statusCode !== 200) return context.json({ error: "refused" }, 401);
  const { access_token } = (await exchanged.body.json()) as { access_token: string };
  const answer = await request(upstream + context.req.path, {
    dispatcher,
    headers: { authorization: `Bearer ${access_token}`, "x-svc-session": session_id ?? "" },
  });
  return context.body(await answer.body.text(), 200, { "content-type": "application/json" });
});

serve({ fetch: app.fetch, port: Number(process.env.PORT), hostname: "127.0.0.1" }, () => process.send?.("listening"));
process.once("disconnect", () => process.exit());
