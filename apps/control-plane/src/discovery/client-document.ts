import { lookup } from "node:dns/promises";
import { readBounded } from "@svc/core/read-bounded";
import { decodeUtf8 } from "@svc/tokens";
import { LRUCache } from "lru-cache";
import { z } from "zod";
import { ClientUnusable, type OAuthClient, type ReadClientDocument } from "../ports/oauth-clients.ts";
import type { AllowedDestination } from "./allow-list.ts";
import { faultBehind } from "./fault.ts";
import type { GuardSettings, ResolveHost } from "./guarded-fetch.ts";
import { isLoopbackHost, isRedirectUri } from "./redirect-uri.ts";

/** draft-ietf-oauth-client-id-metadata-document section 6.6: 5 KB are enough. */
const maxDocumentBytes = 5_120;
const timeoutMs = 5_000;
/** However long the document says. */
const maxAgeMs = 3_600_000;
const maxRemembered = 1_000;

const redirectUri = z
  .string()
  .max(2_000)
  .refine((text) => isRedirectUri(text));

/** Members that matter here (RFC 7591 section 2); others are ignored. */
const clientDocument = z.object({
  client_id: z.string(),
  client_name: z.string().min(1).max(200).optional(),
  redirect_uris: z.array(redirectUri).min(1).max(50),
  scope: z.string().max(2_000).optional(),
  token_endpoint_auth_method: z.literal("none").optional(),
  client_secret: z.never().optional(),
  client_secret_expires_at: z.never().optional(),
});

/** Through the guard of discovery: an address of the internal network is not read unless the settings admit it. */
export function clientDocuments(
  allowed: readonly AllowedDestination[],
  resolveHost: ResolveHost = (host) => lookup(host, { all: true }),
): ReadClientDocument {
  const known = new LRUCache<string, OAuthClient>({ max: maxRemembered, ttl: maxAgeMs });
  return async (clientId) => {
    const remembered = known.get(clientId);
    if (remembered !== undefined) return remembered;
    const client = await read(clientId, { allowed, resolveHost });
    known.set(clientId, client);
    return client;
  };
}

async function read(clientId: string, guard: Pick<GuardSettings, "allowed" | "resolveHost">): Promise<OAuthClient> {
  const { host } = requireDocumentUrl(clientId);
  const { guardedFetch } = await import("./guarded-fetch.ts");
  const signal = AbortSignal.timeout(timeoutMs);
  const { fetch, failed, close } = guardedFetch({ ...guard, credentials: new Map(), signal });
  try {
    return await Promise.race([readWith(fetch, clientId), failed]);
  } catch (error) {
    if (error instanceof ClientUnusable) throw error;
    const fault = (faultBehind(error)?.kind ?? "unreadable").replaceAll("_", " ");
    throw new ClientUnusable(`The client's document at ${host} cannot be read: ${fault}.`, { cause: error });
  } finally {
    await close();
  }
}

/** Section 3 of the draft: https, a path, no dot segments, fragment, or credentials. */
function requireDocumentUrl(clientId: string): URL {
  const url = URL.parse(clientId);
  const isPlain =
    url !== null && url.href === clientId && url.pathname !== "/" && url.username === "" && url.hash === "";
  // The guard admits a loopback address only where the settings do.
  const isPlainHttp = url?.protocol === "http:" && isLoopbackHost(url.hostname);
  if (url !== null && isPlain && (url.protocol === "https:" || isPlainHttp)) return url;
  throw new ClientUnusable("The client's id is neither one of the settings nor the https address of its document.");
}

async function readWith(fetch: typeof globalThis.fetch, clientId: string): Promise<OAuthClient> {
  const response = await fetch(clientId, { headers: { accept: "application/json" }, redirect: "manual" });
  if (response.status !== 200) throw new ClientUnusable(`The client's document is answered with ${response.status}.`);
  const bytes = await readBounded(response.body, maxDocumentBytes);
  const text = bytes && decodeUtf8(bytes);
  const document = text === undefined ? undefined : clientDocument.safeParse(parsed(text)).data;
  if (document === undefined) {
    throw new ClientUnusable(
      "The client's document is no client id metadata document: at most 5 KiB of JSON with client_id and redirect_uris, and no secret.",
    );
  }
  if (document.client_id !== clientId) throw new ClientUnusable("The client's document is that of another client_id.");
  const { client_name: name = new URL(clientId).host, redirect_uris: redirectUris, scope } = document;
  return { clientId, name, redirectUris, scope };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
