import { untilSignal } from "@svc/host/process-end";
import { type Stack, type StackOptions, startStack } from "./stack.ts";

/** Starts the stack, uses it, and stops it: after `use`, at a signal, or when one of its processes ends. */
export async function runStack(
  options: StackOptions,
  use: (stack: Stack, signal: Promise<unknown>) => Promise<void>,
): Promise<void> {
  const signal = untilSignal();
  const starting = startStack(options, process.env);
  const stack = await Promise.race([starting, signal.then(() => undefined)]);
  if (stack === undefined) return void (await starting.then((late) => late.stop()).catch(() => {}));
  try {
    await Promise.race([use(stack, signal), stack.broken]);
  } finally {
    await stack.stop();
  }
}
