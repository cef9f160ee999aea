import { InvalidArgumentError } from "commander";

/** Seconds of a session. */
export function lifetime(text: string): number {
  const value = Number(text);
  if (!/^\d+$/.test(text) || value < 60 || value > 86_400) throw new InvalidArgumentError("It must be 60 to 86400.");
  return value;
}
