import { readFile } from "node:fs/promises";
import { promisify } from "node:util";
import { gzip } from "node:zlib";

/** Where the page's scripts are served, relative to it: a proxy may add a path before all. */
export const docsScripts = { reference: "docs/reference.js", start: "docs/start.js" } as const;

/** The API reference: a page of this service's own files, which sends and loads nothing elsewhere. */
export const docsPage = (title: string): Response =>
  new Response(
    `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<link rel="icon" href="data:,">
<style>#reference { overflow-x: clip }</style>
<title>${title}</title>
</head>
<body>
<noscript>This page needs JavaScript. The same as a document: <a href="openapi.json">openapi.json</a>.</noscript>
<div id="reference"></div>
<script src="${docsScripts.reference}"></script>
<script src="${docsScripts.start}"></script>
</body>
</html>
`,
    { headers: { ...shared, "Content-Type": "text/html; charset=utf-8", "Content-Security-Policy": policy } },
  );

const shared = { "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store" };

/** The renderer writes styles into its elements. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; connect-src 'self'; img-src data:; " +
  "base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/** How the renderer shows this API. Nothing of it leaves the page: no telemetry, no assistant, no fonts, no proxy. */
const settings = {
  url: "openapi.json",
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  withDefaultFonts: false,
  showDeveloperTools: "never",
  hideClientButton: true,
  hideTestRequestButton: true,
  documentDownloadType: "json",
  // The document's own samples take their place.
  hiddenClients: true,
};

const script = { ...shared, "Content-Type": "text/javascript; charset=utf-8" };

export const startScript = (): Response =>
  new Response(`Scalar.createApiReference("#reference", ${JSON.stringify(settings)});\n`, { headers: script });

/** Beside this file in a package and an image; a checkout has the renderer itself. */
export const apiReferenceCopy = "./api-reference.js";

function bundle(): URL {
  try {
    return new URL("browser/standalone.js", import.meta.resolve("@scalar/api-reference"));
  } catch {
    return new URL(apiReferenceCopy, import.meta.url);
  }
}

let compressed: Promise<Uint8Array<ArrayBuffer>> | undefined;

/** The renderer's bundle, compressed once: every browser since 1999 takes gzip. */
export async function referenceScript(): Promise<Response> {
  compressed ??= readFile(bundle()).then(async (text) => new Uint8Array(await promisify(gzip)(text)));
  const headers = { ...script, "Content-Encoding": "gzip", "Cache-Control": "public, max-age=86400" };
  return new Response(await compressed, { headers });
}
