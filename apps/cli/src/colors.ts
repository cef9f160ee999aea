import pc from "picocolors";

/** Colors on a terminal only. */
export const colors = pc.createColors(process.stdout.isTTY === true && !process.env.NO_COLOR);
