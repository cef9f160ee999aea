import type { Decision } from "../audit-rows.ts";
import type { ControlPlane } from "../control-plane.ts";
import { Fault } from "../fault.ts";
import { call, type Reply } from "../http.ts";

export type Level = "good" | "note" | "bad";

/** One thing that was looked at; `remedy` says what to do where something is to be done. */
export interface Finding {
  readonly level: Level;
  readonly what: string;
  readonly remedy: string | null;
}

const good = (what: string): Finding => ({ level: "good", what, remedy: null });
const note = (what: string, remedy: string): Finding => ({ level: "note", what, remedy });
const bad = (what: string, remedy: string): Finding => ({ level: "bad", what, remedy });

/** Looks at one thing after another; stops where nothing answers. */
export async function* checkDeployment(plane: ControlPlane, onStep: (step: string) => void): AsyncGenerator<Finding> {
  onStep("asking whether it is ready");
  const ready = await call<ReadyBody>(`${plane.url}/readyz`).catch(() => undefined);
  if (ready === undefined) {
    yield bad(`${plane.url} cannot be reached`, "Check --control-plane, and that the control plane runs.");
    return;
  }
  yield readiness(ready);
  yield* sealing(ready);
  yield transport(plane.url);
  yield clock(ready);
  onStep("reading the issuer's metadata and keys");
  yield* issuer(plane.url);
  onStep("trying the bearers");
  yield* bearers(plane);
  onStep("looking at what was observed");
  yield* observed(plane);
}

interface ReadyBody {
  readonly status?: string;
  /** Told by whoever is ready. */
  readonly sealing?: { readonly oldest_unsealed: string | null };
  readonly error?: { readonly code: string };
  readonly details?: { readonly failing?: readonly string[] };
}

function readiness({ status, body }: Reply<ReadyBody>): Finding {
  if (status === 200) return good("ready: database and cache store answer");
  const failing = [body.details?.failing ?? body.error?.code ?? `HTTP ${status}`].flat();
  return bad(
    `not ready: ${failing.join(", ")}`,
    failing.includes("restore")
      ? 'The database is older than one that was served: follow "Backup and restore" in deploy/README.md.'
      : "Calls are refused until it is back. Look at what it names, and at its log.",
  );
}

/** What is sealed at all is sealed within five minutes (control plane: Tamper evidence). */
const sealedWithinMs = 600_000;

/** By the clock of whoever answers, since this machine's may be another. */
function* sealing({ body, headers }: Reply<ReadyBody>): Generator<Finding> {
  if (body.sealing === undefined) return;
  const { oldest_unsealed: oldest } = body.sealing;
  const waitsMs = oldest === null ? 0 : Date.parse(String(headers.date)) - Date.parse(oldest);
  if (waitsMs <= sealedWithinMs) yield good("the record is sealed as it comes");
  else
    yield bad(
      `the record is not sealed: its oldest unsealed row is ${Math.floor(waitsMs / 60_000)} minutes old`,
      "Look for warnings of sealing in its log, and for a transaction that stays open (pg_stat_activity, by xact_start).",
    );
}

function transport(url: string): Finding {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return good("served over TLS");
  if (hostname === "localhost" || hostname === "[::1]" || hostname.startsWith("127.")) {
    return good("plain HTTP, on loopback");
  }
  return bad("tokens travel in plain text", "Set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or put TLS before it.");
}

/** A token lives for a minute, so clocks that differ by more than its leeway refuse what is good. */
const leewaySeconds = 5;

function clock({ headers }: Reply<unknown>): Finding {
  const aheadSeconds = Math.round((Date.parse(String(headers.date)) - Date.now()) / 1000);
  if (Math.abs(aheadSeconds) <= leewaySeconds) return good("its clock agrees with this machine's");
  return bad(
    `its clock differs from this machine's by ${aheadSeconds} s`,
    "Let both follow NTP: tokens live for a minute.",
  );
}

async function* issuer(url: string): AsyncGenerator<Finding> {
  const metadata = await call<{ issuer?: string }>(`${url}/.well-known/oauth-authorization-server`);
  const named = metadata.body.issuer ?? "";
  if (named === url) yield good(`issuer ${named}`);
  else
    yield note(
      `issuer ${named}, asked at ${url}`,
      "Right behind a proxy; else set SVC_ISSUER to what verifiers are given.",
    );
  const keys = await call<{ keys?: readonly object[] }>(`${url}/.well-known/jwks.json`);
  const count = keys.body.keys?.length ?? 0;
  if (count > 0) yield good(`${count} signing ${count === 1 ? "key" : "keys"} published`);
  else yield bad("no signing key is published", "svc keys rotate --now");
}

async function* bearers(plane: ControlPlane): AsyncGenerator<Finding> {
  const tries = [
    ["admin", "/v1/keys?limit=1"],
    ["audit", "/v1/audit/decisions?limit=1"],
    ["identity", "/v1/identity/revocations?limit=1"],
  ] as const;
  for (const [name, path] of tries) {
    const fault = await plane.ask(name, path).then(
      () => undefined,
      (cause: unknown) => cause,
    );
    if (fault === undefined) yield good(`the ${name} plane takes its bearer`);
    else if (fault instanceof Fault) yield bad(fault.message, fault.advice);
    else throw fault;
  }
  const anonymous = await call(`${plane.url}/v1/agents`);
  if (anonymous.status === 401) yield good("the admin plane refuses whoever has no bearer");
  else
    yield bad(
      `the admin plane answers ${anonymous.status} without a bearer`,
      "Look at what stands between: it must be 401.",
    );
}

const dayMs = 86_400_000;

async function* observed(plane: ControlPlane): AsyncGenerator<Finding> {
  const since = new Date(plane.nowMs() - dayMs).toISOString();
  const first = async (query: Readonly<Record<string, string>>): Promise<Decision | undefined> => {
    const { data } = await plane.ask<{ data: readonly Decision[] }>(
      "audit",
      `/v1/audit/decisions?${new URLSearchParams({ ...query, since, limit: "1" })}`,
    );
    return data[0];
  };
  try {
    if ((await first({})) === undefined)
      yield note("nothing was decided in the last day", "Put an enforcement point before an agent: svc run --help.");
    else if ((await first({ enforced: "false", outcome: "deny" })) !== undefined) {
      yield note("observe mode let calls pass that enforcing would refuse", "svc would-block --since 24h lists them.");
    } else if ((await first({ enforced: "false" })) !== undefined) {
      yield note(
        "some upstreams are only observed",
        "Nothing would have been refused in the last day: they may be enforced.",
      );
    } else yield good("everything in the last day was enforced");
  } catch (cause) {
    // The bearer's own finding has said it.
    if (!(cause instanceof Fault)) throw cause;
  }
}
