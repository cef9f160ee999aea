/**
 * `application/json` or a type built on it (RFC 6839 section 3.1), with no parameter but `charset=utf-8`. The whole
 * value is matched, since common servers find a type by its beginning, or a charset anywhere. A form's name with the
 * suffix is no JSON to a server that looks at the beginning alone.
 */
const jsonType =
  /^application\/(?!x-www-form-urlencoded|form)(json|[a-z0-9][a-z0-9.-]*\+json)(?:; *charset=(?:utf-8|"utf-8"))?$/i;

/** Every value of a body's `Content-Type` and `Content-Encoding`. */
export interface ContentHeaders {
  readonly contentType: readonly string[];
  readonly contentEncoding: readonly string[];
}

/** `type`: none, several, or another. `parameter`: a parameter that is not the plain charset. `coding`: it is encoded. */
export type ContentFault = "type" | "parameter" | "coding";

/**
 * Why a body is not declared as JSON that every server reads alike (docs/reference/tokens.md#parameter-binding);
 * undefined where it is.
 */
export function contentFaultOf({ contentType, contentEncoding }: ContentHeaders): ContentFault | undefined {
  const [type, ...others] = contentType;
  if (type === undefined || others.length > 0) return "type";
  if (!jsonType.test(type)) return jsonType.test(type.replace(/;.*/s, "").trimEnd()) ? "parameter" : "type";
  return contentEncoding.length === 0 || /^identity$/i.test(contentEncoding.join()) ? undefined : "coding";
}

/** Whether a body is declared as JSON that every server reads alike. */
export const isPlainJson = (headers: ContentHeaders): boolean => contentFaultOf(headers) === undefined;
