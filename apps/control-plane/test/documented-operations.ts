import type { TestApp } from "./support.ts";

/** One operation as the OpenAPI document tells it. */
export interface DocumentedOperation {
  readonly method: string;
  /** With `{placeholders}`. */
  readonly path: string;
  readonly params: readonly string[];
  readonly query: readonly string[];
  /** Names of security schemes; "none" where no credential is one of the choices. */
  readonly bearers: readonly string[];
  /** Undefined where it takes no body. */
  readonly body: { readonly mediaType: string; readonly schema: unknown } | undefined;
}

interface OpenApi {
  readonly paths: Record<string, Record<string, Operation>>;
}
interface Operation {
  readonly security?: readonly Record<string, unknown>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string }[];
  readonly requestBody?: { readonly content: Record<string, { readonly schema: unknown }> };
}

/** Every operation that the running app documents, which is every one that it serves. */
export async function documentedOperations(app: TestApp): Promise<readonly DocumentedOperation[]> {
  const { paths } = (await app.send("/openapi.json", { token: "" })).json as unknown as OpenApi;
  return Object.entries(paths).flatMap(([path, operations]) =>
    Object.entries(operations).map(([method, operation]) => toDocumented(method.toUpperCase(), path, operation)),
  );
}

function toDocumented(method: string, path: string, operation: Operation): DocumentedOperation {
  const { security = [], parameters = [], requestBody } = operation;
  const named = (place: string) => parameters.filter((parameter) => parameter.in === place).map(({ name }) => name);
  const [[mediaType, content] = []] = Object.entries(requestBody?.content ?? {});
  return {
    method,
    path,
    params: named("path"),
    query: named("query"),
    bearers: security.flatMap((choice) => Object.keys(choice).concat(Object.keys(choice).length === 0 ? "none" : [])),
    body: mediaType === undefined ? undefined : { mediaType, schema: content?.schema },
  };
}

/** The path with each placeholder filled in. */
export const filled = (path: string, fill: (param: string) => string): string =>
  path.replaceAll(/\{(\w+)\}/g, (_, param: string) => encodeURIComponent(fill(param)));
