import pc from "picocolors";

/** Shows the current measurement on a terminal's last line, or as a log line; "" clears it. */
export const progress = (text: string): void => {
  if (process.stderr.isTTY) process.stderr.write(`\r\x1b[K${pc.dim(text)}`);
  else if (text !== "") process.stderr.write(`${text}\n`);
};
