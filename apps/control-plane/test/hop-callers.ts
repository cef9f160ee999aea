import { aManifest, aTool } from "@svc/test-support";
import { type Json, registerAgent, startPlane, type TestApp } from "./support.ts";

export type Plane = Awaited<ReturnType<typeof startPlane>>;

/** With the scope `expenses`, in which one agent lends its tools to the person. */
export async function startReaderPlane(): Promise<Plane> {
  const plane = await startPlane();
  const tools = [
    aTool("http:ledger/read", { accepts_taint: false }),
    aTool("http:ledger/list"),
    aTool("http:ledger/web", { result_taint: "untrusted_external" }),
  ];
  await registerAgent(plane, "reader", aManifest("expenses", { tools }));
  return plane;
}

/** A person's session, and a current-hop token of it. */
export interface Caller {
  readonly session: string;
  readonly token: string;
}

export async function consent(plane: Plane): Promise<Caller> {
  const { json } = await plane.send("/v1/consent", { body: { scope: "expenses", user_sub: "ada" } });
  return { session: String(json.session_id), token: String(json.root_grant) };
}

export const call = { target: "http:ledger/read", target_kind: "tool", data_class: "finance.entries" };

/** A line of `POST /v1/hops`. */
export const lineOf = ({ session, token }: Caller, more: object = {}) =>
  JSON.stringify({ session_id: session, token, ...call, body_settled: true, ...more });

/** The answers, in the order of the lines. */
export async function hops(app: TestApp, ...lines: readonly string[]): Promise<readonly Json[]> {
  const headers = { "content-type": "application/x-ndjson" };
  const { text } = await app.send("/v1/hops", { token: "", body: lines.join("\n"), headers });
  const answers = text
    .trimEnd()
    .split("\n")
    .map((line): Json => JSON.parse(line));
  return answers.toSorted((a, b) => Number(a.line) - Number(b.line));
}

/** Of the decision and of the exchange. */
export const statuses = (answer: Json | undefined) => [answer?.authorize?.status, answer?.exchange?.status];
