import type {
  AuthzClient,
  AuthzClientOptions,
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  Page,
  PageQuery,
} from "@svc/client";
import { type Command, Option } from "commander";
import { Fault, notTried } from "./fault.ts";
import { secretSetting } from "./secret-setting.ts";

/** Which of the control plane's bearers a call needs. */
export type Plane = "admin" | "audit" | "identity";

export interface ControlPlaneFlags {
  readonly controlPlane: string;
  readonly json?: boolean;
}

/** Adds the options of every command that calls a control plane. */
export const withControlPlane = (command: Command): Command =>
  command.addOption(
    new Option("--control-plane <url>", "the control plane's address")
      .env("SVC_CONTROL_PLANE_URL")
      .default("http://127.0.0.1:8080"),
  );

/** An audit reader may be the admin, an identity reader either (docs/reference/routes.md#planes-and-bearers). */
const bearerSettings: Readonly<Record<Plane, readonly string[]>> = {
  admin: ["SVC_ADMIN_TOKEN"],
  audit: ["SVC_AUDIT_TOKEN", "SVC_ADMIN_TOKEN"],
  identity: ["SVC_IDENTITY_TOKEN", "SVC_AUDIT_TOKEN", "SVC_ADMIN_TOKEN"],
};

/** Seconds: the submission of a manifest waits for its discovery. */
const timeout = 300;

/** One control plane, called with the bearers of the environment. */
export type ControlPlane = ReturnType<typeof openControlPlane>;

export function openControlPlane({ controlPlane }: ControlPlaneFlags) {
  const url = controlPlane.replace(/\/+$/, "");
  let aheadMs = 0;

  const timedFetch: typeof fetch = async (...request) => {
    const response = await fetch(...request);
    const dateMs = Date.parse(response.headers.get("date") ?? "");
    if (!Number.isNaN(dateMs)) aheadMs = dateMs - Date.now();
    return response;
  };

  // Loaded with the first call: the client's schemas would take most of the time of `--help`.
  async function open(bearers: object): Promise<AuthzClient> {
    const client = await import("@svc/client");
    try {
      return new client.AuthzClient({ baseUrl: url, timeout, tracePath: "", fetch: timedFetch, ...bearers });
    } catch (cause) {
      throw unreachable(url, cause);
    }
  }

  /**
   * A call under a plane's bearer, or under none.
   * @param identity of an agent, for its own calls
   * @throws {Fault} that says what to do next
   */
  async function call<Result>(
    plane: Plane | undefined,
    send: (svc: AuthzClient) => Promise<Result>,
    identity: Pick<AuthzClientOptions, "identityKey" | "agentName"> = {},
  ): Promise<Result> {
    const bearer = plane && bearerOf(plane);
    const svc = await open({ adminToken: bearer, auditToken: bearer, identityToken: bearer, ...identity });
    return send(svc).catch((cause: unknown) => {
      throw faultOf(cause, plane, url);
    });
  }

  /** Every row of a list, page by page. @throws {Fault} */
  async function* rows<Row>(
    plane: Plane,
    read: (svc: AuthzClient, page: PageQuery) => Promise<Page<Row>>,
    pageSize = 200,
  ): AsyncGenerator<Row> {
    const { everyRow } = await import("@svc/client");
    yield* everyRow((cursor) => call(plane, (svc) => read(svc, { limit: pageSize, cursor })));
  }

  /** The same as one list. */
  const all: <Row>(...read: Parameters<typeof rows<Row>>) => Promise<readonly Row[]> = (...read) =>
    collected(rows(...read));

  return {
    url,
    /** A client without bearers. */
    anonymous: () => open({}),
    call,
    rows,
    all,
    /** The control plane's clock by its last answer: epoch milliseconds, up to a second behind and never ahead. */
    nowMs: () => Date.now() + aheadMs,
  };
}

/** For a `catch`: undefined where the control plane refused with one of these codes. */
export const absentBy =
  (...codes: readonly string[]) =>
  (cause: unknown): undefined => {
    if (!(cause instanceof Fault && codes.includes(cause.code ?? ""))) throw cause;
  };

export const unreachable = (url: string, cause: unknown): Fault =>
  notTried(`${url} cannot be reached`, "Check --control-plane or SVC_CONTROL_PLANE_URL, and that it runs.", cause);

/** @throws {Fault} where there is none */
export function bearerOf(plane: Plane): string {
  const [named = ""] = bearerSettings[plane];
  for (const name of bearerSettings[plane]) {
    // The setting lists every bearer that the service accepts: any of them will do.
    const [first = ""] = (secretSetting(name) ?? "").split(",");
    if (first !== "") return first.trim().replace(/^[^=]*=(?=[^=])/, "");
  }
  const advice = `Put it into the environment: export ${named}=..., or name its file: ${named}_FILE.`;
  throw notTried(`there is no bearer of the ${plane} plane`, advice);
}

type Refused = ControlPlaneRejected | ControlPlaneUnavailable;

const isRefused = (cause: unknown): cause is Refused =>
  cause instanceof Error && /^(ControlPlane(Rejected|Unavailable)|ManifestRejected)$/.test(cause.name);

function faultOf(cause: unknown, plane: Plane | undefined, url: string): unknown {
  if (!isRefused(cause)) return cause;
  const { status, details } = cause;
  const code = cause.code ?? undefined;
  if (status === null) {
    return "fault" in cause && cause.fault === "malformed"
      ? notTried(`${url} answers in another form`, "Check --control-plane, and that both are of one release.", cause)
      : unreachable(url, cause);
  }
  if (status === 401 && plane) {
    return notTried(`the bearer of the ${plane} plane is refused`, `Check ${bearerSettings[plane].join(" or ")}.`);
  }
  const reason = "reason" in cause ? cause.reason : cause.message;
  const message = `${reason ?? "It gave no explanation."} (${code ?? "no code"}, HTTP ${status})`;
  if (status === 429) return new Fault(message, "Wait a moment and try again, or raise the rate limit.", { code });
  if (status >= 500) {
    return new Fault(message, "Try again; if it fails again, svc check reports what is wrong.", { exitCode: 2, code });
  }
  const advice = advices[code ?? ""] ?? "Correct what it names; --help shows examples.";
  return new Fault(message + detailLines(details), advice, { code });
}

/** By error code, where another command shows what to change. */
const advices: Readonly<Record<string, string>> = {
  no_agent_in_good_standing: "svc agents list shows the registered agents, svc block list the blocks in force.",
  scope_not_found: "svc agents list shows the registered agents.",
};

interface ErrorDetails {
  readonly agents?: readonly { readonly agent: string; readonly deny_reason: string }[];
  readonly issues?: readonly { readonly path: string; readonly message: string }[];
  readonly diff?: readonly { readonly ref: string; readonly kind: string; readonly remedy: string }[];
}

/** Which members are wrong, and what reconciliation found (docs/reference/conventions.md#errors). */
function detailLines({ agents = [], issues = [], diff = [] }: ErrorDetails): string {
  const lines = [
    ...agents.map(({ agent, deny_reason: reason }) => `${agent}: ${reason}`),
    ...issues.map(({ path, message }) => `${path}: ${message}`),
    ...diff.map(({ ref, kind, remedy }) => `${ref}: ${kind}: ${remedy}`),
  ];
  return lines.map((line) => `\n  ${line}`).join("");
}

export async function collected<Row>(rows: AsyncIterable<Row>): Promise<readonly Row[]> {
  const all: Row[] = [];
  for await (const row of rows) all.push(row);
  return all;
}
