import type {
  AuthzClient,
  AuthzClientOptions,
  ControlPlaneRejected,
  ControlPlaneUnavailable,
  Page,
  PageQuery,
} from "@svc/client";
import { type Command, Option } from "commander";
import { type Context, contextOf, type Plane } from "./contexts.ts";
import { Fault, notTried } from "./fault.ts";
import { secretSetting } from "./secret-setting.ts";

export interface ControlPlaneFlags {
  /** By default the context's. */
  readonly controlPlane?: string;
  readonly context?: string;
  readonly json?: boolean;
}

/** Adds the options of every command that calls a control plane. */
export const withControlPlane = (command: Command): Command =>
  command
    .addOption(
      new Option(
        "--control-plane <url>",
        "the control plane's address (default: the context's, or http://127.0.0.1:8080)",
      ).env("SVC_CONTROL_PLANE_URL"),
    )
    .option("--context <name>", "a control plane of svc login (default: the one that svc context use chose)");

const onThisMachine = "http://127.0.0.1:8080";

/** An audit reader may be the admin, an identity reader either (docs/reference/routes.md#planes-and-bearers). */
const planesFor: Readonly<Record<Plane, readonly Plane[]>> = {
  admin: ["admin"],
  audit: ["audit", "admin"],
  identity: ["identity", "audit", "admin"],
};
const settingOf = (plane: Plane): string => `SVC_${plane.toUpperCase()}_TOKEN`;

/** Seconds: the submission of a manifest waits for its discovery. */
const timeout = 300;

/** One control plane. */
export type ControlPlane = ReturnType<typeof controlPlaneAt>;

/** That of the flags, of a context or of this machine. */
export function openControlPlane({ controlPlane, context: name }: ControlPlaneFlags): ControlPlane {
  const context = name === undefined && controlPlane !== undefined ? undefined : contextOf(name);
  const url = context?.controlPlane ?? controlPlane ?? onThisMachine;
  return controlPlaneAt(url, (plane) => bearerOf(plane, context));
}

/** @param bearerFor returns a plane's bearer */
export function controlPlaneAt(address: string, bearerFor: (plane: Plane) => string) {
  const url = address.replace(/\/+$/, "");
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
    const bearer = plane && bearerFor(plane);
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

/** The setting lists every bearer that the service accepts: any of them will do. */
const fromEnvironment = (plane: Plane): string | undefined =>
  secretSetting(settingOf(plane))
    ?.split(",")[0]
    ?.trim()
    .replace(/^[^=]*=(?=[^=])/, "") || undefined;

/** A context's bearers are for its address alone, those of the environment for any. @throws {Fault} where there is none */
function bearerOf(plane: Plane, context: Context | undefined): string {
  const sources = [(each: Plane) => context?.bearers[each], fromEnvironment];
  for (const source of sources) {
    for (const each of planesFor[plane]) {
      const bearer = source(each);
      if (bearer !== undefined) return bearer;
    }
  }
  const name = settingOf(plane);
  const advice = `Put it into the environment: export ${name}=..., or name its file: ${name}_FILE. svc login keeps it.`;
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
    const advice = `Check ${planesFor[plane].map(settingOf).join(" or ")}, or run svc login again.`;
    return new Fault(`the bearer of the ${plane} plane is refused`, advice, { exitCode: 2, code: "unauthorized" });
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
  scope_not_found: "svc scopes list shows the scopes.",
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
