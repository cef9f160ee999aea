import { z } from "zod";

/** Readers of setting text that more than one setting shares. */

export const text = z.string();

export const flag = z.enum(["true", "false"], { error: "must be true or false" }).transform((word) => word === "true");

export const oneOf = <const Words extends readonly [string, ...string[]]>(words: Words) =>
  z.enum(words, { error: `must be one of ${words.join(", ")}` });

export const wholeNumber = ({ min, max }: { min: number; max: number }) =>
  z
    .string()
    .regex(/^\d{1,15}$/, `must be a whole number from ${min} to ${max}`)
    .transform(Number)
    .refine((number) => number >= min && number <= max, `must be a whole number from ${min} to ${max}`);

/** A comma-separated list; blanks around the commas do not count, empty entries are faults. */
export const commaList = z
  .string()
  .transform((list) => list.split(",").map((entry) => entry.trim()))
  .refine((entries) => !entries.includes(""), "must not hold an empty entry");

export const httpUrl = z.string().transform((address, context) => {
  const url = URL.parse(address);
  if (url !== null && /^https?:$/.test(url.protocol) && url.username === "" && url.password === "") return url;
  context.addIssue("must be an http or https URL without credentials");
  return z.NEVER;
});

export interface ListenAddress {
  host: string;
  port: number;
}

/** `127.0.0.1:16001`, `[::1]:16001`; port 0 takes a free one. */
export const listenAddress = z.string().transform((address, context): ListenAddress => {
  const match = /^(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):(\d{1,5})$/.exec(address);
  const host = match?.[1] ?? match?.[2];
  const port = Number(match?.[3]);
  if (host !== undefined && port <= 65_535) return { host, port };
  context.addIssue("must be host:port");
  return z.NEVER;
});
