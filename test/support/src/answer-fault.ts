import type { Socket } from "node:net";
import { Transform } from "node:stream";

/** What becomes of an answer on its way. */
export type AnswerFault =
  | { readonly kind: "delayed"; readonly ms: number }
  /** After so many bytes of it the connection is reset, ends, or carries nothing more. */
  | { readonly kind: "reset" | "ended" | "stalled"; readonly afterBytes: number }
  /** Other bytes come in its place, and the connection ends. */
  | { readonly kind: "replaced"; readonly by: string };

/** A relay towards `client` that passes everything on until it is told what to spoil. */
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
      // Once what was pushed is on its way.
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
