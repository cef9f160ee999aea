export interface DenialHold {
  /** Runs `work` while no revocation, block, enrollment or key is changed anywhere. Short work only: changes wait for it. */
  hold<T>(work: () => Promise<T>): Promise<T>;
}
