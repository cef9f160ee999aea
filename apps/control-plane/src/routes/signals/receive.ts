import { plainText } from "@svc/core";
import { decodeUtf8 } from "@svc/tokens";
import { type EventTaken, receiveEvent } from "../../commands/signals/receive-event.ts";
import { ApiError } from "../../http/api-error.ts";
import { isMediaType, isUncoded, readBody } from "../../http/body.ts";
import { routeNotFound } from "../../http/path.ts";
import { type App, routesOf } from "../../http/routes.ts";
import type { Deps } from "../deps.ts";
import { refuse } from "./refuse.ts";

const setType = "application/secevent+jwt";
/** A token holds one event. */
const setCapBytes = 65_536;

/** RFC 8935: the identity provider delivers an event. */
export function receiveRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Shared signals");
  route("POST /v1/signals/events", {
    access: "signals",
    summary: "Deliver a security event of the identity provider.",
    reads: { mediaType: setType, schema: plainText },
    reply: { status: 202, description: "It had its effect, now or before." },
    handle: async ({ c }) => {
      const { securityEvents } = deps;
      if (securityEvents === undefined) throw routeNotFound();
      const token = await readToken(c.req.raw);
      if (typeof token !== "string") return token;
      const taken = await receiveEvent({ ...deps, securityEvents }, token);
      if (taken.kind === "refused") return refuse(400, taken.err, taken.description);
      reportEnds(deps, taken);
    },
  });
}

/** The log has what was ended, the record the details. */
export function reportEnds({ events }: Pick<Deps, "events">, { sessions, signIns }: EventTaken): void {
  if (sessions > 0) events.administered("session_revoked");
  if (signIns > 0) events.administered("sign_in_ended");
}

async function readToken(request: Request): Promise<string | Response> {
  if (!isMediaType(request.headers, setType)) return refuse(400, "invalid_request", `The body must be ${setType}.`);
  if (!isUncoded(request.headers)) return refuse(400, "invalid_request", "The body must be sent uncompressed.");
  try {
    return decodeUtf8(await readBody(request, setCapBytes)) ?? "";
  } catch (error) {
    if (error instanceof ApiError) return refuse(400, "invalid_request", error.message);
    throw error;
  }
}
