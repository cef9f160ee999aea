import { type Command, Option } from "commander";
import { Fault } from "./fault.ts";
import { type Call, call } from "./http.ts";

/** Which of the control plane's bearers a call needs. */
export type Plane = "admin" | "audit" | "identity";

export interface ControlPlaneFlags {
  readonly controlPlane: string;
}

type Ask = Omit<Call, "bearer" | "headers">;
export type Query = Readonly<Record<string, string | undefined>>;

/** One control plane, asked with the bearers of the environment. */
export interface ControlPlane {
  readonly url: string;
  /** The JSON of a 2xx answer. @throws {Fault} for anything else, with what to do next. */
  ask<Body>(plane: Plane, path: string, ask?: Ask): Promise<Body>;
  /** Every row of a paged list, page by page. */
  rows<Row>(plane: Plane, path: string, query: Query, pageSize?: number): AsyncGenerator<Row>;
  /**
   * The control plane's clock as its last answer told it: epoch milliseconds, up to a second behind and never ahead.
   */
  nowMs(): number;
}

const defaultAddress = "http://127.0.0.1:8080";

/** Adds what every command that speaks to a control plane takes. */
export const withControlPlane = (command: Command): Command =>
  command.addOption(
    new Option("--control-plane <url>", "the control plane's address")
      .env("SVC_CONTROL_PLANE_URL")
      .default(defaultAddress),
  );

/** An audit reader may be the admin, an identity reader either (specification: Authentication). */
const bearerSettings: Readonly<Record<Plane, readonly string[]>> = {
  admin: ["SVC_ADMIN_TOKEN"],
  audit: ["SVC_AUDIT_TOKEN", "SVC_ADMIN_TOKEN"],
  identity: ["SVC_IDENTITY_TOKEN", "SVC_AUDIT_TOKEN", "SVC_ADMIN_TOKEN"],
};

interface Page<Row> {
  readonly data: readonly Row[];
  readonly page: { readonly next_cursor: string | null };
}

export function openControlPlane(
  { controlPlane }: ControlPlaneFlags,
  environment: NodeJS.ProcessEnv = process.env,
): ControlPlane {
  const url = controlPlane.replace(/\/+$/, "");
  let aheadMs = 0;

  async function ask<Body>(plane: Plane, path: string, asked: Ask = {}): Promise<Body> {
    const bearer = bearerOf(plane, environment);
    const reply = await call<Body & ErrorBody>(`${url}${path}`, { ...asked, bearer }).catch((cause: unknown) => {
      throw unreachable(url, cause);
    });
    const toldMs = Date.parse(String(reply.headers.date));
    if (!Number.isNaN(toldMs)) aheadMs = toldMs - Date.now();
    if (reply.status >= 200 && reply.status < 300) return reply.body;
    throw faultOf(reply.status, reply.body, plane);
  }

  async function* rows<Row>(plane: Plane, path: string, query: Query, pageSize = 200): AsyncGenerator<Row> {
    let cursor: string | null = null;
    do {
      const search = searchOf({ ...query, limit: String(pageSize), cursor: cursor ?? undefined });
      const { data, page }: Page<Row> = await ask(plane, `${path}?${search}`);
      yield* data;
      cursor = page.next_cursor;
    } while (cursor !== null);
  }

  return { url, ask, rows, nowMs: () => Date.now() + aheadMs };
}

const searchOf = (query: Query): URLSearchParams =>
  new URLSearchParams(Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]])));

export const unreachable = (url: string, cause: unknown): Fault =>
  new Fault(`${url} cannot be reached`, "Check --control-plane or SVC_CONTROL_PLANE_URL, and that it runs.", {
    cause,
    exitCode: 2,
  });

/** @throws {Fault} where the environment has none. */
export function bearerOf(plane: Plane, environment: NodeJS.ProcessEnv): string {
  const [named = ""] = bearerSettings[plane];
  for (const name of bearerSettings[plane]) {
    // A service may be given several; the first is as good as any.
    const [first = ""] = (environment[name] ?? "").split(",");
    if (first !== "") return first.replace(/^[^=]*=/, "");
  }
  throw new Fault(`there is no bearer of the ${plane} plane`, `Put it into the environment: export ${named}=...`, {
    exitCode: 2,
  });
}

interface ErrorDetails {
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
  readonly diff?: readonly { readonly ref: string; readonly kind: string; readonly remedy: string }[];
}

interface ErrorBody {
  readonly error?: { readonly code?: string; readonly message?: string; readonly details?: ErrorDetails };
}

function faultOf(status: number, { error }: ErrorBody, plane: Plane): Fault {
  const said = `${error?.message ?? "It gave no explanation."} (${error?.code ?? "no code"}, HTTP ${status})`;
  if (status === 401) {
    const named = bearerSettings[plane].join(" or ");
    return new Fault(`the bearer of the ${plane} plane is refused`, `Check ${named}.`, { exitCode: 2 });
  }
  const code = error?.code;
  if (status === 429) return new Fault(said, "Wait a moment and ask again, or raise the rate limit.", { code });
  if (status >= 500) {
    return new Fault(said, "Ask again; if it stays so, svc check tells what is wrong.", { exitCode: 2, code });
  }
  return new Fault(said + detailsOf(error?.details), "Correct what it names; --help shows examples.", { code });
}

/** Which members are wrong, and what reconciliation found (contract: Conventions, `details`). */
function detailsOf(details: ErrorDetails = {}): string {
  const issues = (details.issues ?? []).map(({ path, message }) => `\n  ${path}: ${message}`);
  const diff = (details.diff ?? []).map(({ ref, kind, remedy }) => `\n  ${ref}: ${kind}: ${remedy}`);
  return [...issues, ...diff].join("");
}

export async function collected<Row>(rows: AsyncIterable<Row>): Promise<readonly Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}
