import {
  type ErrorCode,
  keySet,
  livenessRead,
  openApiRead,
  plainText,
  readinessRead,
  serverMetadata,
  tokenExchangeGrantType,
  toWire,
} from "@svc/core";
import { failingProbes, type ProbeName } from "../commands/readiness.ts";
import { ApiError } from "../http/api-error.ts";
import { readableFromPages } from "../http/cross-origin.ts";
import { type App, jsonResponse, routesOf } from "../http/routes.ts";
import { withTimes } from "../http/times.ts";
import { tokenGrantTypes } from "../people/token-endpoint.ts";
import { singleFlight } from "../ports/single-flight.ts";
import type { Deps } from "./deps.ts";

/** Short, so that a key that was removed at once is soon forgotten. */
const headers = { "Cache-Control": "public, max-age=60" };

export function wellKnownRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Issuer");
  route("GET /.well-known/jwks.json", {
    access: "none",
    summary: "The issuer's public keys.",
    reply: { description: "Every key that signs now, will sign next, or signed what is still valid.", schema: keySet },
    handle: async () => jsonResponse((await deps.issuerKeys.latest()).published, 200, headers),
  });

  const metadataPath = "/.well-known/oauth-authorization-server";
  app.use(`${metadataPath}/*`, readableFromPages("GET"));
  route(`GET ${metadataPath}`, {
    access: "none",
    summary: "Metadata by which a stock OAuth client finds the token endpoint.",
    reply: { description: "The metadata.", schema: serverMetadata },
    headers,
    handle: () => toMetadata(deps),
  });
  // Where RFC 8414 section 3.1 puts the metadata of an issuer with a path.
  const issuerPath = new URL(deps.issuer).pathname.replace(/\/$/, "");
  if (issuerPath !== "") {
    app.get(metadataPath + issuerPath, () =>
      jsonResponse(toWire(serverMetadata, toMetadata(deps)) as object, 200, headers),
    );
  }
}

function toMetadata({ issuer, people }: Pick<Deps, "issuer" | "people">) {
  const at = (path: string): string => `${issuer.replace(/\/$/, "")}${path}`;
  const signsIn = people !== undefined;
  return {
    issuer,
    tokenEndpoint: at(signsIn ? "/oauth/token" : "/v1/token/exchange"),
    jwksUri: at("/.well-known/jwks.json"),
    grantTypesSupported: [...(signsIn ? tokenGrantTypes : []), tokenExchangeGrantType],
    // Required by RFC 8414, and without people there is no authorization endpoint.
    responseTypesSupported: signsIn ? ["code"] : [],
    // The subject token of an exchange is the credential.
    tokenEndpointAuthMethodsSupported: signsIn ? clientAuthMethods : ["none"],
    serviceDocumentation: at("/docs"),
    svcHopsEndpoint: at("/v1/hops"),
    ...(signsIn && {
      // A page, so at the root of the host, as those of the console and the sign-in.
      authorizationEndpoint: new URL("/oauth/authorize", issuer).href,
      revocationEndpoint: at("/oauth/revoke"),
      revocationEndpointAuthMethodsSupported: clientAuthMethods,
      responseModesSupported: ["query"],
      codeChallengeMethodsSupported: ["S256"],
      authorizationResponseIssParameterSupported: true,
      clientIdMetadataDocumentSupported: true,
    }),
  };
}

const clientAuthMethods = ["none", "client_secret_basic", "client_secret_post"];

/** Without credentials: they say whether the process serves, and which store it cannot reach, no more. */
export function healthRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Health");
  route("GET /livez", {
    access: "none",
    summary: "The process is up.",
    reply: { description: "It is.", schema: livenessRead },
    handle: () => ({ status: "ok" as const }),
  });

  const unready = singleFlight(() => failingProbes(deps.probes));
  route("GET /readyz", {
    access: "none",
    summary: "Database and cache store answered just now, and no restore waits to be acknowledged.",
    reply: {
      description: "They did; when housekeeping was last done, and from when the oldest row is that is not sealed.",
      schema: readinessRead,
    },
    errors: ["database_unavailable", "guard_unavailable", "restore_unacknowledged", "audit_unavailable", "draining"],
    handle: async () => {
      const [first, ...others] = await unready();
      if (first !== undefined) throw notReady([first, ...others]);
      const housekeeping = withTimes({ lastRunMs: deps.lastHousekeepingMs() });
      const sealing = withTimes({ oldestUnsealedMs: deps.oldestUnsealedMs() });
      return { status: "ok" as const, housekeeping, sealing };
    },
  });

  route("GET /metrics", {
    access: "none",
    summary: "Metrics in the Prometheus text format.",
    reply: { description: "Every series.", schema: plainText, mediaType: "text/plain" },
    handle: async () => {
      const { contentType, body } = await deps.renderMetrics();
      return new Response(body, { headers: { "Content-Type": contentType, "Cache-Control": "no-store" } });
    },
  });
}

const codeOf = {
  database: "database_unavailable",
  cache_store: "guard_unavailable",
  restore: "restore_unacknowledged",
  seals: "audit_unavailable",
  draining: "draining",
} as const satisfies Record<ProbeName, ErrorCode>;

const acknowledging =
  'The database is older than one that was served before: follow "Backup and restore" in deploy/README.md up to ' +
  "POST /v1/issuer-epoch, which acknowledges it.";

const removing =
  "The table of seals has rows that are not this service's: svc audit verify names them. Find out who wrote them, and let " +
  "a database administrator remove them.";

/** The code is that of the first; `details.failing` names them all. */
function notReady(failing: readonly [ProbeName, ...ProbeName[]]): ApiError {
  const advice = failing.includes("restore") ? ` ${acknowledging}` : failing.includes("seals") ? ` ${removing}` : "";
  return new ApiError(codeOf[failing[0]], `Not ready: ${failing.join(", ")}.${advice}`, { details: { failing } });
}

/** Made once, at the first request, from the routes mounted by then: no start waits for documents. */
export function documentRoutes(app: App, deps: Deps): void {
  const { route } = routesOf(app, deps, "Documents");
  const document = once(async () => {
    const { openApiDocument } = await import("../http/openapi-document.ts");
    return openApiDocument(app.endpoints, deps);
  });
  route("GET /openapi.json", {
    access: "none",
    summary: "This API as an OpenAPI 3.1 document.",
    reply: { description: "The document.", schema: openApiRead },
    handle: async () => jsonResponse(await document()),
  });

  const page = {
    access: "none",
    reply: { description: "A page.", schema: plainText, mediaType: "text/html" },
  } as const;
  const script = { ...page, reply: { ...page.reply, description: "A script.", mediaType: "text/javascript" } } as const;
  const docs = () => import("../http/docs-page.ts");
  route("GET /docs", {
    ...page,
    summary: "The same for people.",
    handle: async () => (await docs()).docsPage((await document()).info.title),
  });
  route("GET /docs/start.js", {
    ...script,
    summary: "What the page runs.",
    handle: async () => (await docs()).startScript(),
  });
  route("GET /docs/reference.js", {
    ...script,
    summary: "The renderer of the page.",
    handle: async () => (await docs()).referenceScript(),
  });
}

function once<T>(make: () => Promise<T>): () => Promise<T> {
  let made: Promise<T> | undefined;
  return () => {
    made ??= make();
    return made;
  };
}
