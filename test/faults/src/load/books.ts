/** The scope of the load, and the routes of its upstreams. */
export const scope = "books";

const target = (operation: string) => `http:${scope}/${operation}`;

/** An agent's calls. The policy declares read, post (privileged) and browse (tainting). */
export const operations = ["read", "post", "browse", "undeclared", "observed"] as const;
export type Operation = (typeof operations)[number];

const methodOf = (operation: Operation) => (operation === "post" ? "POST" : "GET");

const routeOf = (operation: Operation) => ({
  methods: [methodOf(operation)],
  path: `/${operation}/:id`,
  target: target(operation),
  data_class: operation === "browse" ? "web" : "finance.entries",
});

const withoutObserved = operations.filter((operation) => operation !== "observed");

/** In the format of an enforcement point's configuration file. */
export interface TlsFiles {
  readonly ca_file?: string;
  readonly cert_file?: string;
  readonly key_file?: string;
}

/** An enforced and an observed upstream, before one server. */
export const upstreamsBefore = (url: string, tls: TlsFiles = {}) => ({
  upstreams: [
    { name: "enforced", url, tls, routes: withoutObserved.map(routeOf) },
    { name: "watched", url, tls, mode: "observe", routes: [routeOf("observed")] },
  ],
});

/** The call `id` as an agent makes it. */
export const requestOf = (operation: Operation, id: string) => ({
  method: methodOf(operation),
  path: `/${operation === "observed" ? "watched" : "enforced"}/${operation}/${id}`,
  ...(operation === "post" && { body: JSON.stringify({ amount: 7, id }) }),
});

/** The call of a path at the upstream; the target is null where it was only observed. */
export function meaningOf(path: string): { readonly callId: string; readonly target: string | null } {
  const [, operation = "", callId = ""] = path.split("/");
  return { callId, target: operation === "observed" ? null : target(operation) };
}
