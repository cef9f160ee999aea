import type { VerificationKey } from "@svc/tokens";
import { getJson } from "./get-json.ts";
import { pinnedIdentities } from "./pinned-identities.ts";
import type { VerifierPorts } from "./ports.ts";
import { startRefreshing } from "./refresher.ts";
import { revocationList } from "./revocation-list.ts";

export const defaultRefreshSeconds = 10;

/** Where revocations and agents' keys are read, and how often. */
export interface IdentityViewOptions {
  /** The control plane's base address. */
  readonly url: string;
  /** A bearer of the identity plane. */
  readonly token: string;
  /** How often the view is refreshed; shorter than its freshness. Default 10. */
  readonly refreshSeconds?: number;
}

/** What the control plane says about agents, as fresh as the last refresh. */
export interface IdentityView {
  /** Resolves when the first refresh is over, however it ended. */
  readonly ready: Promise<void>;
  /** The refresh under way. */
  underWay(): Promise<void> | undefined;
  /** Seconds since the last good refresh was asked for, on the monotonic clock; Infinity before the first. */
  ageSeconds(): number;
  isRevoked(agent: string): boolean;
  /** @throws where the agent's identity is not known freshly */
  keysOf(agent: string): Promise<readonly VerificationKey[]>;
  stop(): void;
}

/** The whole list is read this often, what was revoked since the last refresh otherwise. */
const wholeEvery = 10;

export function identityView(
  ports: VerifierPorts,
  { url, token, refreshSeconds = defaultRefreshSeconds }: IdentityViewOptions,
  freshnessSeconds: number,
  observe: { readonly onAge: (seconds: number) => void; readonly onFailure: (error: unknown) => void },
): IdentityView {
  const { monotonicMs } = ports;
  const base = `${url.replace(/\/+$/, "")}/v1/identity/`;
  const get = (path: string) => getJson(ports, base + path, token);
  const revocations = revocationList(get);
  const identities = pinnedIdentities({ get, monotonicMs, freshnessMs: freshnessSeconds * 1000 });
  let refreshes = 0;
  let askedAtMs = Number.NEGATIVE_INFINITY;
  const ageSeconds = () => (monotonicMs() - askedAtMs) / 1000;

  const refresher = startRefreshing(ports, {
    intervalMs: refreshSeconds * 1000,
    attempt: async () => {
      const startedMs = monotonicMs();
      await revocations.refresh(refreshes % wholeEvery === 0);
      refreshes += 1;
      askedAtMs = startedMs;
      observe.onAge(ageSeconds());
      // After the list, which alone ages the view: an identity that cannot be read ages by itself.
      await identities.refresh();
    },
    onFailure: (error) => {
      if (Number.isFinite(askedAtMs)) observe.onAge(ageSeconds());
      observe.onFailure(error);
    },
  });

  return {
    ready: refresher.refresh(),
    underWay: refresher.underWay,
    ageSeconds,
    isRevoked: (agent) => revocations.has(agent),
    keysOf: (agent) => identities.keysOf(agent),
    stop: refresher.stop,
  };
}
