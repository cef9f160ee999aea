/**
 * Name and value pairs of a query or form, in order (WHATWG URL: application/x-www-form-urlencoded), but undefined where
 * a browser would guess: malformed percent-encoding, or bytes that are not UTF-8.
 */
export function decodeUrlEncoded(text: string): readonly (readonly [name: string, value: string])[] | undefined {
  try {
    return text
      .split("&")
      .filter((pair) => pair !== "")
      .map((pair) => {
        const equals = pair.indexOf("=");
        return equals === -1
          ? ([decodePart(pair), ""] as const)
          : ([decodePart(pair.slice(0, equals)), decodePart(pair.slice(equals + 1))] as const);
      });
  } catch {
    return undefined;
  }
}

/** Throws for bad percent-encoding and for bytes that are not UTF-8. A token, the longest of all, has nothing to decode. */
const decodePart = (part: string): string =>
  encoded.test(part) ? decodeURIComponent(part.replaceAll("+", " ")) : part;

const encoded = /[%+]/;

/** The first name that stands twice. */
export function repeatedName(pairs: readonly (readonly [name: string, value: string])[]): string | undefined {
  const seen = new Set<string>();
  for (const [name] of pairs) {
    if (seen.has(name)) return name;
    seen.add(name);
  }
  return undefined;
}
