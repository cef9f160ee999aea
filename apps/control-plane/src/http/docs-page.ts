import { html, raw } from "hono/html";
import type { OpenApiDocument } from "./openapi-document.ts";

type Markup = ReturnType<typeof html>;

/** The parts of an operation that the page shows; the document is ours, so its shape is known. */
interface Operation {
  readonly summary?: string;
  readonly tags?: readonly string[];
  readonly deprecated?: boolean;
  readonly security?: readonly Readonly<Record<string, unknown>>[];
  readonly parameters?: readonly { readonly name: string; readonly in: string; readonly schema: unknown }[];
  readonly requestBody?: { readonly content: Content };
  readonly responses: Readonly<Record<string, { readonly description: string; readonly content?: Content }>>;
}

type Content = Readonly<Record<string, { readonly schema: unknown }>>;

/** An OpenAPI document as one page for people: no script, nothing fetched. */
export function docsPage(document: OpenApiDocument): string {
  const byTag = Map.groupBy(operationsOf(document), ({ tags }) => tags?.[0] ?? "Other");
  return String(html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${document.info.title}</title>
<style>${raw(styles)}</style>
<main>
<h1>${document.info.title} <small>${document.info.version}</small></h1>
<p>${document.info.description}</p>
<nav>${[...byTag.keys()].map((tag) => html`<a href="#${tag}">${tag}</a> `)}</nav>
${[...byTag].map(([tag, operations]) => html`<h2 id="${tag}">${tag}</h2>${operations.map(operationSection)}`)}
<h2 id="schemas">Schemas</h2>
${Object.entries(document.components?.schemas ?? {}).map(
  ([name, schema]) =>
    html`<details id="schema-${name}"><summary><code>${name}</code></summary>${json(schema)}</details>`,
)}
</main>
</html>`);
}

const operationsOf = (document: OpenApiDocument) =>
  Object.entries(document.paths ?? {}).flatMap(([path, methods]) =>
    Object.entries(methods as Readonly<Record<string, Operation>>).map(([method, operation]) => ({
      ...operation,
      line: html`<b>${method.toUpperCase()}</b> <code>${path}</code>`,
    })),
  );

const operationSection = (operation: Operation & { readonly line: unknown }): Markup => html`<details>
<summary>${operation.line} ${operation.summary}${operation.deprecated ? " (deprecated)" : ""}</summary>
<p>Bearer: ${bearersOf(operation)}</p>
${(operation.parameters ?? []).map(
  ({ name, in: place, schema }) => html`<p><code>${name}</code> in ${place}</p>${json(schema)}`,
)}
${contentOf(operation.requestBody?.content)}
${Object.entries(operation.responses).map(
  ([status, { description, content }]) => html`<p><b>${status}</b> ${description}</p>${contentOf(content)}`,
)}
</details>`;

const bearersOf = ({ security = [] }: Operation): string => security.flatMap(Object.keys).join(" or ") || "none";

const contentOf = (content: Content = {}): Markup[] =>
  Object.entries(content).map(([mediaType, { schema }]) => html`<p><code>${mediaType}</code></p>${json(schema)}`);

const json = (schema: unknown): Markup => html`<pre>${JSON.stringify(schema, null, 2)}</pre>`;

const styles = `
:root { color-scheme: light dark; font: 16px/1.5 system-ui, sans-serif }
main { max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
details { border-top: 1px solid #8884; padding: .4rem 0 }
summary { cursor: pointer }
pre { overflow: auto; padding: .6rem; background: #8881; font-size: .85rem }
small { color: #888; font-size: .6em }
`;
