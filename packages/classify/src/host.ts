import { z } from "zod";

const name = "[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?(?:\\.[a-z0-9_](?:[a-z0-9_-]*[a-z0-9_])?)*";
const hostPattern = new RegExp(`^${name}(?::[1-9]\\d{0,4})?$`);
/** An absolute URL whose authority ends at a slash: elsewhere parsers disagree on where it ends. */
const urlPattern = new RegExp(`^(https?)://(${name})(?::([1-9]\\d{0,4}))?(?:/[\\x21-\\x7e]*)?$`, "i");

const isInternational = (host: string): boolean => /(?:^|\.)xn--/i.test(host);

/** A host name as URLs have it; a port that is not the scheme's own is part of it. */
export const hostName = z
  .string()
  .refine(
    (text) => hostPattern.test(text) && !isInternational(text),
    "must be a host name in lower case ASCII, with an optional port",
  );

const defaultPorts: Readonly<Record<string, string>> = { http: "80", https: "443" };

/** The host of an absolute http or https URL; undefined for every other text, and where two parsers could disagree. */
export function hostOfUrl(text: string): string | undefined {
  const [, scheme = "", host, port] = urlPattern.exec(text) ?? [];
  if (host === undefined || text.includes("\\") || isInternational(host)) return undefined;
  const isDefault = port === undefined || port === defaultPorts[scheme.toLowerCase()];
  return isDefault ? host.toLowerCase() : `${host.toLowerCase()}:${port}`;
}
