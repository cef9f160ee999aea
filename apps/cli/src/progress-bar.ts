import { colors } from "./colors.ts";

export interface Bar {
  /** @param share from 0 to 1 */
  show(share: number, what: string): void;
  /** Clears the line. */
  done(): void;
}

const cells = 24;

/** On standard error: a bar on a terminal, else a line every five seconds. */
export function progressBar(stream: NodeJS.WriteStream = process.stderr): Bar {
  let printedMs = performance.now();
  return {
    show(share, what) {
      const percent = `${Math.floor(share * 100)} %`.padStart(5);
      if (stream.isTTY) {
        const filled = Math.round(share * cells);
        const bar = colors.cyan("█".repeat(filled)) + colors.dim("░".repeat(cells - filled));
        stream.write(`\r\x1b[K${bar} ${percent} ${what}`);
      } else if (performance.now() - printedMs > 5_000) {
        printedMs = performance.now();
        stream.write(`${percent} ${what}\n`);
      }
    },
    done() {
      if (stream.isTTY) stream.write("\r\x1b[K");
    },
  };
}
