/** Path templates of OpenAPI as routes of the upstreams file (docs/reference/enforcement-point.md#finding-the-target). */

const parameter = /^\{([^{}]+)\}$/;
const plain = /^[A-Za-z0-9._~!$&'()+,=@-]+$/;

/** Undefined where a route cannot say it: a parameter inside a segment, or odd characters. */
export function routePathOf(template: string): string | undefined {
  if (!template.startsWith("/")) return undefined;
  const segments = template.slice(1).split("/");
  const taken = new Set<string>();
  const routed = segments.map((segment, index) => {
    const [, name] = parameter.exec(segment) ?? [];
    if (name !== undefined) return `:${uniqueName(name, taken)}`;
    // A last slash.
    if (segment === "" && index === segments.length - 1) return "";
    return plain.test(segment) && !/^\.+$/.test(segment) ? segment : undefined;
  });
  return routed.includes(undefined) ? undefined : `/${routed.join("/")}`;
}

function uniqueName(name: string, taken: Set<string>): string {
  const base = name.replaceAll(/\W/g, "_").replace(/^(?=\d)/, "_");
  let unique = base;
  for (let more = 2; taken.has(unique); more++) unique = `${base}_${more}`;
  taken.add(unique);
  return unique;
}

/** Routes are tried in file order: a literal segment before a named one. */
export function bySpecificity(a: string, b: string): number {
  const [left, right] = [a.split("/"), b.split("/")];
  for (let at = 0; at < Math.max(left.length, right.length); at++) {
    const order = weight(left[at]) - weight(right[at]);
    if (order !== 0) return order;
    const [one = "", other = ""] = [left[at], right[at]];
    if (one !== other && weight(one) === 0) return one < other ? -1 : 1;
  }
  return 0;
}

const weight = (segment: string | undefined): number => {
  if (segment === undefined) return 3;
  if (segment === "*") return 2;
  return segment.startsWith(":") ? 1 : 0;
};
