/**
 * Resolves with `work`, or rejects with `late` at the deadline. An answer that arrived in time counts even in a busy
 * process: the event loop runs timers before it reads sockets, and immediates after that.
 */
export async function within<T>(deadlineMs: number, work: PromiseLike<T>, late: () => Error): Promise<T> {
  const { promise: deadline, reject } = Promise.withResolvers<never>();
  const timer = setTimeout(() => setImmediate(() => reject(late())), deadlineMs);
  try {
    return await Promise.race([work, deadline]);
  } finally {
    clearTimeout(timer);
  }
}
