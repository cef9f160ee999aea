import { cors } from "hono/cors";

/**
 * Lets a page of any origin read the answers of a route, as OAuth clients that run in a browser do (Fetch standard, CORS
 * protocol). For routes without cookies alone: what such a page sends carries its own credentials, and `*` lets it send no
 * others.
 */
export const readableFromPages = (method: "GET" | "POST") =>
  cors({ origin: "*", allowMethods: [method], exposeHeaders: ["Retry-After", "WWW-Authenticate"], maxAge: 600 });
