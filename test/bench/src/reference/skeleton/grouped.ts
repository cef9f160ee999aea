interface Waiting<Item> {
  readonly item: Item;
  readonly resolve: () => void;
  readonly reject: (cause: unknown) => void;
}

/** As in the product: one batch is collected while another commits, and a second one starts from this many items on. */
const batchesInFlight = 2;
const worthACommit = 32;

/** Commits the items of one turn of the event loop together, in two statements for many, then resolves them. */
export function grouped<Item>(write: (batch: readonly Item[]) => Promise<unknown>): (item: Item) => Promise<void> {
  const waiting: Waiting<Item>[] = [];
  let inFlight = 0;
  let isFlushDue = false;

  function flush(): void {
    isFlushDue = false;
    while (inFlight < batchesInFlight && waiting.length >= (inFlight === 0 ? 1 : worthACommit)) {
      const half = inFlight === 0 && waiting.length >= 2 * worthACommit ? waiting.length >> 1 : waiting.length;
      send(waiting.splice(0, half));
    }
  }

  function send(batch: readonly Waiting<Item>[]): void {
    inFlight++;
    const settle = (end: (one: Waiting<Item>) => void) => {
      inFlight--;
      for (const one of batch) end(one);
      flush();
    };
    write(batch.map(({ item }) => item)).then(
      () => settle(({ resolve }) => resolve()),
      (cause) => settle(({ reject }) => reject(cause)),
    );
  }

  return (item) =>
    new Promise((resolve, reject) => {
      waiting.push({ item, resolve, reject });
      if (isFlushDue || inFlight === batchesInFlight) return;
      isFlushDue = true;
      setImmediate(flush);
    });
}
