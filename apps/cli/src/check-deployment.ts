import type { AuthzClient, ControlPlaneUnavailable, DecisionFilters, DecisionRow, Readiness } from "@svc/client";
import { bad, type Finding, good, note } from "@svc/host/finding";
import { isLoopback } from "@svc/host/loopback";
import type { ControlPlane } from "./control-plane.ts";
import { Fault } from "./fault.ts";

/** Ends early where the control plane cannot be reached. */
export async function* checkDeployment(plane: ControlPlane, onStep: (step: string) => void): AsyncGenerator<Finding> {
  onStep("reading the readiness");
  const svc = await plane.anonymous();
  const ready = await svc.ready().catch((cause: ControlPlaneUnavailable) => cause);
  if (ready instanceof Error && ready.status === null) {
    yield bad(`${plane.url} cannot be reached`, "Check --control-plane, and that the control plane runs.");
    return;
  }
  if (ready instanceof Error) yield notReady(ready);
  else {
    yield good("ready: database and cache store respond");
    yield* sealing(ready, plane.nowMs());
  }
  yield transport(plane.url);
  yield clock(plane.nowMs());
  onStep("reading the issuer's metadata and keys");
  yield* issuer(plane.url, svc);
  onStep("trying the bearers");
  yield* bearers(plane, svc);
  onStep("reading observed decisions");
  yield* observed(plane);
}

function notReady({ status, code, details }: ControlPlaneUnavailable): Finding {
  const failing = [details.failing ?? code ?? `HTTP ${status}`].flat();
  return bad(
    `not ready: ${failing.join(", ")}`,
    failing.includes("restore")
      ? 'The database is older than one that was served: follow "Backup and restore" in deploy/README.md.'
      : "Calls are refused until it is back: docs/guides/operations.md#what-a-failure-looks-like says what its log names.",
  );
}

/** Rows are sealed within five minutes (control plane: Tamper evidence). */
const sealedWithinMs = 600_000;

/** @param nowMs by the control plane's clock, since this machine's may differ */
function* sealing({ sealing: sealed }: Readiness, nowMs: number): Generator<Finding> {
  if (sealed === undefined) return;
  const { oldestUnsealed } = sealed;
  const waitsMs = oldestUnsealed === null ? 0 : nowMs - Date.parse(oldestUnsealed);
  if (waitsMs <= sealedWithinMs) yield good("the record is sealed");
  else
    yield bad(
      `the record is not sealed: its oldest unsealed row is ${Math.floor(waitsMs / 60_000)} minutes old`,
      "Check its log for sealing warnings, and the database for a transaction that stays open (pg_stat_activity, by xact_start).",
    );
}

function transport(url: string): Finding {
  const { protocol, hostname } = new URL(url);
  if (protocol === "https:") return good("served over TLS");
  if (isLoopback(hostname)) return good("plain HTTP, on loopback");
  return bad("tokens travel in plain text", "Set SVC_TLS_CERT_FILE and SVC_TLS_KEY_FILE, or end TLS at a proxy.");
}

/** Clocks that differ by more than the leeway refuse valid tokens. */
const leewaySeconds = 5;

function clock(nowMs: number): Finding {
  const aheadSeconds = Math.round((nowMs - Date.now()) / 1000);
  if (Math.abs(aheadSeconds) <= leewaySeconds) return good("its clock matches this machine's");
  return bad(
    `its clock differs from this machine's by ${aheadSeconds} s`,
    "Synchronize both by NTP: tokens live for a minute.",
  );
}

async function* issuer(url: string, svc: AuthzClient): AsyncGenerator<Finding> {
  const { issuer: named } = await svc.metadata().catch(() => ({ issuer: "" }));
  if (named === url) yield good(`issuer ${named}`);
  else
    yield note(
      `issuer ${named}, reached at ${url}`,
      "Correct behind a proxy; otherwise set SVC_ISSUER to the address that verifiers use.",
    );
  const { keys } = await svc.jwks().catch(() => ({ keys: [] }));
  if (keys.length > 0) yield good(`${keys.length} signing ${keys.length === 1 ? "key" : "keys"} published`);
  else yield bad("no signing key is published", "svc keys rotate --now");
}

async function* bearers(plane: ControlPlane, anonymous: AuthzClient): AsyncGenerator<Finding> {
  const tries = [
    ["admin", (svc: AuthzClient) => svc.admin.issuerKeys({ limit: 1 })],
    ["audit", (svc: AuthzClient) => svc.audit.decisions({ limit: 1 })],
    ["identity", (svc: AuthzClient) => svc.identity.revocations({ limit: 1 })],
  ] as const;
  for (const [name, send] of tries) {
    try {
      await plane.call<unknown>(name, send);
      yield good(`the ${name} plane accepts its bearer`);
    } catch (fault) {
      if (!(fault instanceof Fault)) throw fault;
      yield bad(fault.message, fault.advice);
    }
  }
  const answer = await anonymous.admin.agents().catch((cause: ControlPlaneUnavailable) => cause);
  const status = "status" in answer ? answer.status : 200;
  if (status === 401) yield good("the admin plane refuses a caller without a bearer");
  else
    yield bad(
      `the admin plane returns ${status} without a bearer`,
      "Check the proxies before it: the status must be 401.",
    );
}

const dayMs = 86_400_000;

async function* observed(plane: ControlPlane): AsyncGenerator<Finding> {
  const since = new Date(plane.nowMs() - dayMs);
  const first = async (filters: DecisionFilters): Promise<DecisionRow | undefined> => {
    const { data } = await plane.call("audit", ({ audit }) => audit.decisions({ ...filters, since, limit: 1 }));
    return data[0];
  };
  try {
    if ((await first({})) === undefined)
      yield note("no decisions in the last day", "Put an enforcement point before an agent: svc run --help.");
    else if ((await first({ enforced: false, outcome: "deny" })) !== undefined) {
      yield note("observe mode let calls pass that enforcement would block", "svc would-block --since 24h lists them.");
    } else if ((await first({ enforced: false })) !== undefined) {
      yield note(
        "some upstreams are in observe mode",
        "Enforcement would have blocked no call in the last day: they may enforce.",
      );
    } else yield good("every decision of the last day was enforced");
  } catch (cause) {
    // The bearer's own finding reports it.
    if (!(cause instanceof Fault)) throw cause;
  }
}
