import pc from "picocolors";

/** Tells a terminal what is being measured, on one line that the next takes over; "" clears it. A log gets a line each. */
export const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${pc.dim(text)}`);
  else if (text !== "") process.stderr.write(`${text}\n`);
};
