import type { ReceivedRequest } from "@svc/test-support";
import { bindParams, decodeUnverifiedHopToken } from "@svc/tokens";
import { decodeJwt } from "jose";
import { expect } from "vitest";
import { type Answer, lastAnswer } from "./agent.ts";
import type { Sent, Want } from "./exchange.ts";

/** The result of one exchange, on both sides of the enforcement point. */
export interface Outcome {
  /** Its response has no body. */
  readonly isHead: boolean;
  /** All bytes that the agent received. */
  readonly text: string;
  /** All requests that the upstream received. */
  readonly requests: readonly ReceivedRequest[];
  /** Its bytes, as Latin-1. */
  readonly bytes: string;
}

/** The facts of a block, each alone and all in its message (docs/reference/enforcement-point.md#blocked-answers). */
function namesWhatToDo(message: string, facts: Readonly<Record<string, unknown>>): void {
  const { target, deny_reason: denyReason, reason, remedy, link } = facts;
  expect(target === null || typeof target === "string").toBe(true);
  expect(reason).toEqual(denyReason ?? expect.stringMatching(/^[a-z_]+$/));
  expect(link).toMatch(/^docs\/troubleshooting\.md#[a-z_]+$/);
  expect(message.endsWith(`; ${remedy}; see ${link}`), message).toBe(true);
}

/** Compares the result with the expectation. */
export function judge(want: Want, outcome: Outcome, fill: (text: string) => string): void {
  const answer = lastAnswer(outcome.text);
  if ("blocked" in want) {
    expect([answer.status, answer.headers.get("x-svc-blocked")]).toEqual([want.status, want.blocked]);
    if (!outcome.isHead) {
      const { error, details } = JSON.parse(answer.body);
      expect(error).toMatchObject({ code: want.blocked });
      namesWhatToDo(error.message, details);
    }
    if (want.answer) expect(outcome.text).toMatch(want.answer);
    return void nothingSent(outcome);
  }
  if ("inBand" in want) {
    const { status = 200, code = want.inBand === "policy" ? -32_010 : -32_603 } = want;
    expect([answer.status, answer.headers.get("x-svc-blocked")]).toEqual([status, want.inBand]);
    const { jsonrpc, id, error } = JSON.parse(answer.body);
    expect([jsonrpc, id]).toEqual(["2.0", want.id]);
    expect(error).toMatchObject({ code, data: { code: want.inBand, ...(want.target && { target: want.target }) } });
    namesWhatToDo(error.message, error.data);
    return void nothingSent(outcome);
  }
  if ("malformed" in want) {
    expect(want.malformed).toContain(answer.status);
    expect(answer.headers.has("x-svc-blocked")).toBe(false);
    return void nothingSent(outcome);
  }
  if ("failed" in want) {
    expect([answer.status, answer.headers.has("x-svc-blocked")]).toEqual([want.failed, false]);
    return void sentOnce(want.sent, outcome, fill);
  }
  if ("aborted" in want) {
    expect(outcome.text).toMatch(want.aborted);
    return void sentOnce(want.sent, outcome, fill);
  }
  if (!want.answer) expect(answer.status).toBe(200);
  for (const pattern of [want.answer ?? []].flat()) expect(outcome.text).toMatch(pattern);
  if (want.hides) expect(outcome.text).not.toMatch(want.hides);
  showsNothingOfOurs(answer);
  sentOnce(want.passes, outcome, fill);
}

function nothingSent({ requests, bytes }: Outcome): void {
  expect(requests).toEqual([]);
  expect(bytes).toBe("");
}

function showsNothingOfOurs({ headers }: Answer): void {
  const ours = [...headers.keys()].filter((name) =>
    /^(x-svc-|txn-token|agent-identity)/.test(name.replaceAll("_", "-")),
  );
  expect(ours).toEqual([]);
}

function sentOnce(sent: Sent, { requests, bytes }: Outcome, fill: (text: string) => string): void {
  const head = bytes.slice(0, bytes.indexOf("\r\n\r\n"));
  expect(head.split("\r\n")[0]).toBe(`${sent.line} HTTP/1.1`);
  expect(requests).toHaveLength(1);
  const [request] = requests;
  if (!request) return;
  const lines = head.split("\r\n").slice(1).map(inLowerCase);
  for (const header of sent.headers ?? []) expect(lines).toContain(inLowerCase(fill(header)));
  const shown = head.toLowerCase();
  for (const absent of sent.without ?? []) expect(shown).not.toContain(fill(absent).toLowerCase());
  if (sent.body !== undefined) expect(request.body.toString("latin1")).toBe(sent.body);
  expect(tokenIn(request)?.aud ?? null).toBe(sent.target);
  expect(isBound(request)).toBe(sent.isPrivileged ?? false);
}

/** The name of a header line, not its value. */
const inLowerCase = (line: string): string => line.replace(/^[^:]*/, (name) => name.toLowerCase());

const valueIn = ({ rawHeaders }: ReceivedRequest, wanted: string): string | undefined => {
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === wanted);
  return at === -1 ? undefined : rawHeaders[at + 1];
};

const tokenIn = (request: ReceivedRequest) =>
  decodeUnverifiedHopToken(valueIn(request, "authorization")?.replace("Bearer ", "") ?? "");

/** Whether it has a transaction token, which must then hold the hash of the body that arrived. */
function isBound(request: ReceivedRequest): boolean {
  const token = valueIn(request, "txn-token");
  if (token === undefined) return false;
  expect(decodeJwt(token).tctx).toMatchObject({ params_hash: paramsHashOf(request.body) });
  return true;
}

function paramsHashOf(body: Buffer): string | undefined {
  const binding = bindParams(body);
  return binding.ok ? binding.paramsHash : undefined;
}
