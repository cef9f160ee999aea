/** One listener for all recorders, so that many of them raise no warning of too many listeners. */
const open = new Set<() => void>();
let isListening = false;

/** Runs `end` when the process exits by itself, or by `process.exit`; returns how to cancel. */
export function endAtExit(end: () => void): () => void {
  if (!isListening) process.on("exit", endAll);
  isListening = true;
  open.add(end);
  return () => open.delete(end);
}

function endAll(): void {
  for (const end of open) end();
}
