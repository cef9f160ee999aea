/**
 * What `work` resolves with, or the error of `late` once the time is up. An answer that had arrived by then counts: the
 * timer of a process that was busy for a while fires before its sockets are read, and a deadline is there to bound how
 * long others are waited for.
 */
export async function within<T>(deadlineMs: number, work: PromiseLike<T>, late: () => Error): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  // The event loop reads its sockets after the timers and before the immediates.
  const timer = setTimeout(() => setImmediate(() => reject(late())), deadlineMs);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
