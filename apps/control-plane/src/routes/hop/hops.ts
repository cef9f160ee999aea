import {
  authorizeResponse,
  type CamelCased,
  type EmbeddedAnswer,
  fromWire,
  type HopAnswer,
  hopAnswer,
  hopLine,
  maxHopLines,
  toWire,
} from "@svc/core";
import type { Span } from "@svc/telemetry";
import type { z } from "zod";
import { isOfKind } from "../../commands/hop/hop-tokens.ts";
import { type HopTaken, takeHop } from "../../commands/hop/take-hop.ts";
import { ApiError, invalidRequest } from "../../http/api-error.ts";
import { rateLimited } from "../../http/authentication.ts";
import { unauthorized } from "../../http/bearers.ts";
import { reported } from "../../http/error-handling.ts";
import { decodeJson, readJsonText } from "../../http/json-body.ts";
import { linesResponse, ndjson } from "../../http/ndjson.ts";
import { requireNoQuery } from "../../http/query.ts";
import { type App, routesOf } from "../../http/routes.ts";
import { consentUrlOf } from "../../people/consent-link.ts";
import type { Deps } from "../deps.ts";
import { decisionOf, unrecorded } from "./current-hop.ts";
import { exchangeAnswer, undecidable } from "./exchange.ts";

export function hopsRoute(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Hops");
  route("POST /v1/hops", {
    access: "none",
    summary: "Authorize and exchange, for up to 64 calls at once: each line has its own token and its own answer.",
    reads: { mediaType: ndjson, schema: hopLine },
    reply: {
      description: "A line for each call, in the order in which they end.",
      schema: hopAnswer,
      mediaType: ndjson,
    },
    errors: ["invalid_request", "payload_too_large", "unsupported_media_type"],
    handle: async ({ c }) => {
      requireNoQuery(c.req.raw.url);
      const lines = linesOf(await readJsonText(c.req.raw, ndjson));
      return linesResponse(lines.map(async (text, line) => JSON.stringify(await answerLine(deps, text, line))));
    },
  });
}

function linesOf(body: string): readonly string[] {
  const lines = body.endsWith("\n") ? body.slice(0, -1).split("\n") : body.split("\n");
  if (lines.length > maxHopLines) {
    throw new ApiError("payload_too_large", `A request may have at most ${maxHopLines} lines.`);
  }
  return lines;
}

type Line = CamelCased<z.output<typeof hopLine>>;

/** Never rejects: what goes wrong with one line is its answer, and no other's. */
async function answerLine(deps: Deps, text: string, line: number): Promise<z.input<typeof hopAnswer>> {
  const read = readLine(text);
  const span = deps.events.authorize.started(read instanceof ApiError ? {} : read);
  const answer = await deps.events.within(span, () => answerTo(deps, read, span));
  return toWire(hopAnswer, { line, ...answer });
}

async function answerTo(deps: Deps, read: Line | ApiError, span: Span | undefined): Promise<Answer> {
  const { events } = deps;
  let call: Call & Line;
  try {
    if (read instanceof ApiError) throw read;
    call = { ...read, subject: await subjectOf(deps, read) };
  } catch (error) {
    events.authorize.malformed(span);
    return { authorize: errorAnswer(reported(error, events.requestFailed)) };
  }
  return takeLine(deps, call, span);
}

function readLine(text: string): Line | ApiError {
  try {
    return fromWire(hopLine, decodeJson(text, hopLine));
  } catch (error) {
    return error instanceof ApiError ? error : invalidRequest("The line could not be read.");
  }
}

async function subjectOf({ verifySubject, limits }: Deps, { token }: Line) {
  const subject = await verifySubject(token);
  if (subject === undefined || !isOfKind(subject, "current_hop")) throw unauthorized();
  const waitSeconds = await limits.session(subject);
  if (waitSeconds > 0) throw rateLimited(waitSeconds);
  return subject;
}

type Answer = Omit<HopAnswer, "line">;
type Call = Parameters<typeof takeHop>[1];

/** Emits the events of an authorize and of an exchange, as the public endpoints do. */
async function takeLine(deps: Deps, call: Call & Line, span: Span | undefined): Promise<Answer> {
  const { authorize: deciding } = deps.events;
  const startedMs = performance.now();
  const decideMs = () => performance.now() - startedMs;
  let taken: HopTaken;
  try {
    taken = await takeHop(deps, call);
  } catch (error) {
    deciding.unavailable(span, error);
    return { authorize: answerOf(() => unrecorded(error)), stages: { decide: decideMs() } };
  }
  if (taken.kind !== "spent" && taken.kind !== "refused") {
    deciding.answered(span, taken);
    return { authorize: authorizeAnswer(taken, await consentUrlOf(deps, taken)), stages: { decide: decideMs() } };
  }
  deciding.answered(span, taken.decided);
  const stages = { decide: decideMs() };
  const tokens = await exchanged(deps, call, taken);
  const authorize = authorizeAnswer(taken.decided, undefined);
  return { authorize, ...tokens, stages: { ...stages, exchange: decideMs() - stages.decide } };
}

type Spent = Extract<HopTaken, { readonly kind: "spent" | "refused" }>;

async function exchanged(
  { events }: Deps,
  call: Line,
  taken: Spent,
): Promise<Pick<Answer, "sibling"> & { readonly exchange: EmbeddedAnswer }> {
  const span = events.exchange.started(call);
  return events.within(span, async () => {
    try {
      const result = taken.kind === "spent" ? await taken.tokens : taken.refusal;
      if (result.kind === "unavailable") throw result.fault;
      events.exchange.answered(span, result);
      if (result.kind !== "exchanged") return { exchange: exchangeAnswer(result) };
      const { token, expiresInSeconds: expiresIn } = result.sibling;
      return { exchange: exchangeAnswer(result), sibling: { token, expiresIn } };
    } catch (error) {
      events.exchange.unavailable(span, error);
      return { exchange: undecidable };
    }
  });
}

const authorizeAnswer = (...decided: Parameters<typeof decisionOf>): EmbeddedAnswer =>
  answerOf(() => ({ status: 200, body: toWire(authorizeResponse, decisionOf(...decided)) }));

/** `answer` throws an {@link ApiError} for a refusal. */
function answerOf(answer: () => EmbeddedAnswer): EmbeddedAnswer {
  try {
    return answer();
  } catch (error) {
    return errorAnswer(error as ApiError);
  }
}

const errorAnswer = ({ status, envelope, headers }: ApiError): EmbeddedAnswer => ({
  status,
  body: { ...envelope },
  ...(headers["Retry-After"] !== undefined && { retryAfter: headers["Retry-After"] }),
});
