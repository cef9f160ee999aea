import { admitRequest } from "./fetch.ts";
import type { AdmissionOptions } from "./options.ts";

/** The used part of Hono's context. */
export interface HonoLikeContext {
  readonly req: { readonly raw: Request };
}

/** Hono middleware; a handler reads `admissionOf(c.req.raw)`. Put it before anything that reads the body. */
export const honoAdmission =
  (options: AdmissionOptions<Request>) =>
  async (context: HonoLikeContext, next: () => Promise<void>): Promise<Response | undefined> => {
    const admitted = await admitRequest(options, context.req.raw);
    if (admitted instanceof Response) return admitted;
    await next();
    return undefined;
  };
