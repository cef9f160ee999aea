import type { DiscoverySource, SourceAnswer } from "@svc/core";

/** What each source advertises, or why it gave no answer. Never throws; answers within 5 s, whatever the sources do. */
export type Discover = (sources: readonly DiscoverySource[]) => Promise<readonly SourceAnswer[]>;
