import type { DiscoverySource, SourceAnswer } from "@svc/core";

/** What each source advertises, or the reason for no answer. Never throws; resolves within 5 s. */
export type Discover = (sources: readonly DiscoverySource[]) => Promise<readonly SourceAnswer[]>;
