import { jsonResponse } from "../../http/routes.ts";

/** RFC 8935 section 2.3; streams, whose errors have no specified body, use it too. */
export const refuse = (status: 400 | 404 | 409, err: string, description: string): Response =>
  jsonResponse({ err, description }, status, { "Cache-Control": "no-store", "Content-Language": "en" });
