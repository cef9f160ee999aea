import { colors } from "./colors.ts";

export interface Progress {
  /** Replaces the current step. */
  show(step: string): void;
  /** Clears the line. */
  done(): void;
}

const frames = ["|", "/", "-", "\\"];

/** On standard error: a spinner on a terminal, else a line for each step. */
export function progress(mode: "shown" | "silent", stream: NodeJS.WriteStream = process.stderr): Progress {
  if (mode === "silent") return { show: () => {}, done: () => {} };
  if (!stream.isTTY) return { show: (step) => void stream.write(`${step}\n`), done: () => {} };
  let timer: NodeJS.Timeout | undefined;
  let frame = 0;
  const done = (): void => {
    clearInterval(timer);
    timer = undefined;
    stream.write("\r\x1b[K");
  };
  return {
    show(step) {
      clearInterval(timer);
      const draw = () => {
        frame += 1;
        stream.write(`\r\x1b[K${colors.cyan(frames[frame % frames.length] ?? "")} ${step} ...`);
      };
      draw();
      timer = setInterval(draw, 120).unref();
    },
    done,
  };
}
