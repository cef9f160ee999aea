const stopSignals = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** Resolves at the first signal to end. A second one is somebody in a hurry: it ends this process, and its children with it. */
export function untilSignal(): Promise<NodeJS.Signals> {
  return new Promise((resolve) => {
    let asked = false;
    for (const name of stopSignals) {
      process.on(name, () => {
        if (asked) process.exit(1);
        asked = true;
        resolve(name);
      });
    }
  });
}
