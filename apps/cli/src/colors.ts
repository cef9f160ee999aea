import pc from "picocolors";

/** Colours on a terminal, none in a file, a pipe or a log. */
export const colors = pc.createColors(process.stdout.isTTY === true && !process.env.NO_COLOR);
