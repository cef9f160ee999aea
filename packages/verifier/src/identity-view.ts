import { followPush, pushConcernsMs } from "@svc/tokens";
import { getJson } from "./get-json.ts";
import { pinnedIdentities } from "./pinned-identities.ts";
import type { VerifierPorts } from "./ports.ts";
import { pushedDenials } from "./pushed-denials.ts";
import { startRefreshing } from "./refresher.ts";
import { revocationList } from "./revocation-list.ts";

export const defaultRefreshSeconds = 10;

/** The source of revocations and agents' keys. */
export interface IdentityViewOptions {
  /** The control plane's base address. */
  readonly url: string;
  /** A bearer of the identity plane. */
  readonly token: string;
  /** Seconds between refreshes; less than `freshnessSeconds`. Default 10. */
  readonly refreshSeconds?: number;
  /**
   * Follows the control plane's push beside the refreshes, so that revocations, ended sessions, blocks and removed keys refuse calls at
   * once. Its connection keeps a process alive until `close`. Default false.
   */
  readonly push?: boolean;
}

/** Every tenth refresh reads the whole list, the others what was revoked since the last one. */
const wholeEvery = 10;

export type IdentityView = ReturnType<typeof identityView>;

/** Agents' revocations and keys as of the last refresh. */
export function identityView(
  ports: VerifierPorts,
  { url, token, refreshSeconds = defaultRefreshSeconds, push = false }: IdentityViewOptions,
  freshnessSeconds: number,
  observe: {
    readonly onAge: (seconds: number) => void;
    readonly onFailure: (error: unknown) => void;
    readonly onPushFailure: (error: unknown) => void;
  },
) {
  const { monotonicMs } = ports;
  const base = `${url.replace(/\/+$/, "")}/v1/identity/`;
  const get = (path: string) => getJson(ports, base + path, token);
  const revocations = revocationList(get);
  const identities = pinnedIdentities(get, monotonicMs, freshnessSeconds * 1000);
  let refreshes = 0;
  let resets = 0;
  let requestedAtMs = Number.NEGATIVE_INFINITY;
  const ageSeconds = () => (monotonicMs() - requestedAtMs) / 1000;

  const { ready, refresh, underWay, stop } = startRefreshing(ports, {
    intervalMs: refreshSeconds * 1000,
    attempt: async () => {
      const startedMs = monotonicMs();
      const resetsBefore = resets;
      await revocations.refresh(refreshes % wholeEvery === 0);
      refreshes = resets === resetsBefore ? refreshes + 1 : 0;
      requestedAtMs = startedMs;
      observe.onAge(ageSeconds());
      // Last: only the list determines the age of the view, each identity has an age of its own.
      await identities.refresh();
    },
    onFailure: (error) => {
      if (Number.isFinite(requestedAtMs)) observe.onAge(ageSeconds());
      observe.onFailure(error);
    },
  });

  const pushed = pushedDenials(monotonicMs, pushConcernsMs, {
    onRevoked: revocations.add,
    onIdentity: identities.forget,
    onReset: () => {
      resets += 1;
      refreshes = 0;
      // A refresh under way may have been answered before.
      void Promise.resolve(underWay()).then(refresh);
    },
  });
  const following = new AbortController();
  const follow = async () => {
    const events = followPush(ports, {
      ...{ url: `${base}revocations/stream`, token, signal: following.signal, onFailure: observe.onPushFailure },
      sinceMs: () => ports.now() - pushConcernsMs,
    });
    for await (const event of events) pushed.take(event);
  };
  if (push) void follow();

  return {
    ready,
    underWay,
    stop: () => {
      stop();
      following.abort();
    },
    pushed,
    /** Seconds since the request of the last successful refresh, on the monotonic clock; Infinity before the first. */
    ageSeconds,
    isRevoked: revocations.has,
    keysOf: identities.keysOf,
  };
}
