import type { RequestExample } from "./request-examples.ts";

export interface SampledRoute {
  readonly method: string;
  readonly path: string;
  /** The variable that holds its bearer; undefined without one. */
  readonly bearer: string | undefined;
}

/** The request as a shell and as TypeScript send it: `x-codeSamples` of OpenAPI renderers. */
export const codeSamples = (route: SampledRoute, example: RequestExample) => [
  { lang: "Shell", label: "curl", source: curlOf(route, example) },
  { lang: "TypeScript", label: "TypeScript", source: example.client ?? fetchOf(route, example) },
];

function curlOf({ method, path, bearer }: SampledRoute, example: RequestExample): string {
  const { body, form = {}, lines } = example;
  const sent = lines?.map((line) => JSON.stringify(line)).join("\n") ?? (body && JSON.stringify(body));
  const mediaType = lines === undefined ? "application/json" : "application/x-ndjson";
  const parts = [
    `curl -s${method === "get" ? "" : ` -X ${method.toUpperCase()}`} "$SVC_CONTROL_PLANE_URL${target(path, example)}"`,
    ...(bearer === undefined ? [] : [`-H "Authorization: Bearer $${bearer}"`]),
    ...(sent === undefined ? [] : [`-H "Content-Type: ${mediaType}"`, `-d ${quoted(sent)}`]),
    ...Object.entries(form).map(([name, value]) => `--data-urlencode "${name}=${value}"`),
  ];
  return parts.join(" \\\n  ");
}

function target(path: string, { params = {}, query = {} }: RequestExample): string {
  const filled = path.replace(/\{(\w+)\}/g, (_, name: string) => params[name] ?? `{${name}}`);
  const search = new URLSearchParams(query).toString();
  return search === "" ? filled : `${filled}?${search}`;
}

/** In single quotes, or in double ones where it names variables. */
const quoted = (text: string): string =>
  text.includes("$") ? `"${text.replace(/["\\]/g, "\\$&")}"` : `'${text.replaceAll("'", "'\\''")}'`;

/** Of the routes that `@svc/client` has no method for: none sends a body. */
function fetchOf({ path, bearer }: SampledRoute, example: RequestExample): string {
  const headers =
    bearer === undefined ? "" : `, {\n  headers: { authorization: \`Bearer \${process.env.${bearer}}\` },\n}`;
  return `const response = await fetch(\`\${process.env.SVC_CONTROL_PLANE_URL}${target(path, example)}\`${headers});`;
}
