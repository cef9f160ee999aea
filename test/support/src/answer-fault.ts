import type { Socket } from "node:net";
import { Transform } from "node:stream";

/** A fault of a response in transit. */
export type AnswerFault =
  | { readonly kind: "delayed"; readonly ms: number }
  /** After this many bytes the connection is reset, ends, or stalls. */
  | { readonly kind: "reset" | "ended" | "stalled"; readonly afterBytes: number }
  /** Replaced by these bytes, after which the connection ends. */
  | { readonly kind: "replaced"; readonly by: string };

/** A relay to `client` that forwards unchanged until a fault is set. */
export function spoilable(client: Socket): Transform & { spoil(fault: AnswerFault): void } {
  let fault: AnswerFault | undefined;
  let carried = 0;

  const breakOff = (kind: AnswerFault["kind"]) => {
    if (kind === "reset") client.resetAndDestroy();
    else if (kind !== "stalled") client.end();
  };

  const relay = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      if (!fault) return done(null, chunk);
      if (fault.kind === "delayed") {
        setTimeout(done, fault.ms, null, chunk);
        return;
      }
      const { kind } = fault;
      const whole = fault.kind === "replaced" ? Buffer.from(fault.by) : chunk;
      const room = fault.kind === "replaced" ? whole.length : fault.afterBytes;
      const rest = whole.subarray(0, Math.max(0, room - carried));
      carried += rest.length;
      if (rest.length > 0) this.push(rest);
      // After the pushed bytes were sent.
      if (carried >= room) setImmediate(breakOff, kind);
      done();
    },
  });
  return Object.assign(relay, {
    spoil: (next: AnswerFault) => {
      fault = next;
      carried = 0;
    },
  });
}
