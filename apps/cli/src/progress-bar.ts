import { colors } from "./colors.ts";

export interface Bar {
  /** How much is done, of 1, and what. */
  show(share: number, what: string): void;
  /** Clears the line. */
  done(): void;
}

const cells = 24;

/** On a terminal one line that fills; elsewhere a line every five seconds; on standard error. */
export function progressBar(stream: NodeJS.WriteStream = process.stderr): Bar {
  let saidMs = performance.now();
  return {
    show(share, what) {
      const percent = `${Math.floor(share * 100)} %`.padStart(5);
      if (stream.isTTY) {
        const filled = Math.round(share * cells);
        const bar = colors.cyan("█".repeat(filled)) + colors.dim("░".repeat(cells - filled));
        stream.write(`\r\x1b[K${bar} ${percent} ${what}`);
      } else if (performance.now() - saidMs > 5_000) {
        saidMs = performance.now();
        stream.write(`${percent} ${what}\n`);
      }
    },
    done() {
      if (stream.isTTY) stream.write("\r\x1b[K");
    },
  };
}
