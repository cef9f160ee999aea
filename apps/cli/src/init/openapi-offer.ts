import { toolRef } from "@svc/core";
import { fact, guess, type Note, type Offer, type OfferedRoute, type OfferedTool, reads, writes } from "./offer.ts";
import {
  addressOf,
  baseUrlOf,
  type OpenApi,
  type Operation,
  type OperationMethod,
  operationMethods,
} from "./read-openapi.ts";
import { bySpecificity, routePathOf } from "./route-path.ts";
import type { Source } from "./source.ts";
import { judgeResults } from "./taint.ts";

const reading: ReadonlySet<OperationMethod> = new Set(["get", "head", "options", "trace", "query"]);

interface Listed {
  readonly method: OperationMethod;
  readonly template: string;
  readonly operation: Operation;
}

/** A route and a tool for each operation of an OpenAPI document. */
export function openApiOffer(
  source: Extract<Source, { kind: "openapi" }>,
  document: OpenApi,
  isTrusted: boolean,
): Offer {
  const { name } = source;
  const listed = operationsOf(document);
  const taken = new Set<string>();
  const leftOut: { name: string; why: string }[] = [];
  const offered = listed.flatMap(({ method, template, operation }) => {
    const path = routePathOf(template);
    const elsewhere = otherAddress(template, operation, document);
    if (path === undefined || elsewhere !== undefined) {
      const why =
        elsewhere === undefined
          ? "a route has whole segments alone, of plain characters or {names}"
          : `it is at another address, ${elsewhere}: give that a name of its own`;
      leftOut.push({ name: `${method.toUpperCase()} ${template}`, why });
      return [];
    }
    const ref = refOf(name, { method, template, operation }, taken);
    const tool = offeredTool(name, ref, { method, template, operation }, isTrusted);
    const methods = methodsOf(method, template, document);
    return { tool, route: { methods, path, target: ref, dataClass: tool.dataClass } satisfies OfferedRoute };
  });
  return {
    name,
    read: `${listed.length === 1 ? "1 operation" : `${listed.length} operations`} of OpenAPI ${document.openapi}`,
    endpoint: {
      protocol: "http",
      url: baseUrlOf(source, document),
      routes: offered.map(({ route }) => route).sort((a, b) => bySpecificity(a.path, b.path)),
    },
    tools: offered.map(({ tool }) => tool),
    leftOut,
  };
}

/** Of an operation or a path with servers of its own. */
function otherAddress(template: string, { servers }: Operation, document: OpenApi): string | undefined {
  const own = servers ?? document.paths[template]?.servers;
  if (own === undefined || addressOf(own) === addressOf(document.servers)) return undefined;
  return addressOf(own);
}

/** Servers give HEAD to the handler of GET, so that both are one operation. */
const operationsOf = ({ paths }: OpenApi): readonly Listed[] =>
  Object.entries(paths).flatMap(([template, item]) =>
    operationMethods.flatMap((method) => {
      const operation = item[method];
      if (operation === undefined || (method === "head" && item.get !== undefined)) return [];
      return { method, template, operation };
    }),
  );

const methodsOf = (method: OperationMethod, template: string, { paths }: OpenApi): readonly string[] =>
  method === "get" && paths[template]?.head !== undefined ? ["GET", "HEAD"] : [method.toUpperCase()];

/** By the operation's id, else by method and path. */
function refOf(source: string, { method, template, operation }: Listed, taken: Set<string>): string {
  const words = template
    .replaceAll(/\{(.*?)\}/g, "by_$1")
    .split("/")
    .filter(Boolean);
  const named = operation.operationId ?? [method === "get" ? "read" : method, ...words].join("_");
  const plain = named.replaceAll(/[^A-Za-z0-9._-]+/g, "_").replaceAll(/^_+|_+$/g, "");
  const base = `http:${source}/${plain || method}`.slice(0, 240);
  let ref = base;
  for (let more = 2; taken.has(ref) || !toolRef.safeParse(ref).success; more++) ref = `${base}_${more}`;
  taken.add(ref);
  return ref;
}

function offeredTool(source: string, ref: string, listed: Listed, isTrusted: boolean): OfferedTool {
  const { method, template, operation } = listed;
  const results = judgeResults(`${operation.operationId ?? ""} ${template}`, undefined, isTrusted);
  const common = { ref, resultTaint: results.resultTaint };
  if (reading.has(method)) {
    return { ...common, dataClass: reads(source), access: "read", privileged: false, notes: results.notes };
  }
  const { notes, ...danger } = judgeWrite(listed);
  return { ...common, dataClass: writes(source), access: "write", ...danger, notes: [...notes, ...results.notes] };
}

type Danger = Pick<OfferedTool, "privileged" | "acceptsTaint"> & { readonly notes: readonly Note[] };

/** A write is privileged where its body can be bound; else it is kept from chains that read untrusted data. */
function judgeWrite({ method, operation: { requestBody } }: Listed): Danger {
  const name = method.toUpperCase();
  const unbindable = whyUnbindable(requestBody);
  if (unbindable === undefined) return { privileged: true, notes: [guess(`privileged: method ${name}`)] };
  const why = `no untrusted caller: method ${name}; it cannot be privileged, since ${unbindable}`;
  return { privileged: false, acceptsTaint: false, notes: [method === "delete" ? fact(why) : guess(why)] };
}

/** A privileged call needs a body of one JSON object (docs/reference/tokens.md#parameter-binding). */
function whyUnbindable(body: Operation["requestBody"]): string | undefined {
  const contents = Object.entries(body?.content ?? {});
  if (body === undefined || contents.length === 0) return "it has no body to bind";
  const [type, json] = contents.find(([each]) => /^application\/(?:[^;]+\+)?json\s*(?:;|$)/i.test(each)) ?? [];
  if (type === undefined) return `its body is ${contents[0]?.[0]}, not JSON`;
  const described = json?.schema?.type;
  return described === undefined || described === "object" ? undefined : `its body is no JSON object`;
}
