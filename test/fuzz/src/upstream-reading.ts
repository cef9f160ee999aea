import type { Arrival } from "./recording-upstream.ts";

/**
 * An upstream's reading of a request, from its bytes alone. Written independently of the enforcement point's code: the
 * most liberal server decodes, resolves dots, merges slashes, cuts parameters and suffixes,
 * and ignores case and blank ends.
 */
export function meaningOf(arrival: Arrival): string | undefined {
  return arrival.at === "files" ? messageMeaning(arrival) : pathMeaning(arrival);
}

export const routes = [
  { methods: ["GET"], path: "/admin", operation: "admin" },
  { methods: ["GET"], path: "/entries/:id", operation: "entry" },
  { methods: ["POST"], path: "/post", operation: "post" },
  { methods: ["GET"], path: "/:page", operation: "page" },
  { methods: ["GET", "HEAD", "POST", "PUT"], path: "/*", operation: "rest" },
] as const;

function asServersReadIt(sent: string): string {
  const segments = decodeURIComponent(new URL(`http://host${sent}`).pathname)
    .toLowerCase()
    .split("/")
    .map((segment) => segment.replace(/;.*/, "").replace(/[. ]+$/, ""));
  return `/${segments.filter((segment) => segment !== "").join("/")}`.replace(/([^/])\.[^/]*$/, "$1");
}

/** Undefined where no route of this upstream matches. */
function pathMeaning({ at, method, url }: Arrival): string | undefined {
  const base = at === "deep" ? "/base" : "";
  const whole = asServersReadIt(url);
  if (!whole.startsWith(`${base}/`)) return undefined;
  const read = whole.slice(base.length);
  return `http:${at}/${operationOf(method, read)}`;
}

function operationOf(method: string, read: string): string | undefined {
  if (method === "POST" && read === "/post") return "post";
  // Servers give HEAD to the handler of GET.
  if (method !== "GET" && method !== "HEAD") return "rest";
  if (read === "/admin") return "admin";
  if (/^\/entries\/[^/]+$/.test(read)) return "entry";
  return /^\/[^/]+$/.test(read) ? "page" : "rest";
}

const housekeeping = ["initialize", "ping", "tools/list"];

function messageMeaning({ method, url, body }: Arrival): string | undefined {
  if (url !== "/mcp" || (method !== "POST" && method !== "GET" && method !== "DELETE")) return undefined;
  if (method !== "POST") return "mcp:files";
  const message = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
  if (message.method === undefined || String(message.method).startsWith("notifications/")) return "mcp:files";
  if (message.method === "tools/call") return `mcp:files/${message.params.name}`;
  return housekeeping.includes(message.method) ? "mcp:files" : `mcp:files#${message.method}`;
}
