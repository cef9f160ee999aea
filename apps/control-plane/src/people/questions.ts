import { scopeName } from "@svc/core";
import { jwtVerify, SignJWT } from "jose";
import { z } from "zod";
import type { Clock } from "../ports/clock.ts";
import { actSchema } from "./act-schema.ts";

/**
 * Questions to a person, what came of an act, and the links that lead to them, sealed with a MAC: what is answered is what was asked, in every
 * process, and nothing is stored before the answer.
 */
export interface Questions {
  seal<K extends Kind>(kind: K, content: Content<K>, lifeSeconds: number): Promise<string>;
  /** Undefined for one that is altered, expired, or of another kind. */
  open<K extends Kind>(kind: K, sealed: string): Promise<Opened<K> | undefined>;
}

type Kind = keyof typeof contents;
type Content<K extends Kind> = z.output<(typeof contents)[K]>;
export type Opened<K extends Kind> = Content<K> & { readonly expiresAtMs: number };

/** A call that was denied for want of a consent. */
const deniedCall = z.strictObject({
  sessionId: z.string(),
  agent: z.string(),
  target: z.string(),
  actionId: z.string(),
});
export type DeniedCall = z.output<typeof deniedCall>;

/** What a client asks for, as its request said it and was checked (RFC 6749 section 4.1.1). */
const clientRequest = z.strictObject({
  clientId: z.string(),
  redirectUri: z.string(),
  resource: z.string(),
  challenge: z.string(),
  state: z.string().nullable(),
});
export type ClientRequest = z.output<typeof clientRequest>;

const contents = {
  /** `?ask=` of the consent page: for one scope, of the person of the session. */
  link: z.strictObject({ userSub: z.string(), scope: scopeName, call: deniedCall }),
  /** What one page showed to one person. */
  question: z.strictObject({
    id: z.uuid(),
    signInId: z.string(),
    asked: z.array(z.strictObject({ scope: scopeName, policyVersion: z.int(), agent: z.string() })).min(1),
    /** base64url(SHA-256) of what was shown. */
    shown: z.string(),
    call: deniedCall.nullable(),
    client: clientRequest.nullable(),
  }),
  /** What an administrator is about to do. */
  act: z.strictObject({
    id: z.uuid(),
    signInId: z.string(),
    act: actSchema,
    from: z.string(),
    /** base64url(SHA-256) of what must still be so. */
    shown: z.string(),
  }),
  /** What was done, for the page that is shown next. */
  done: z.strictObject({ signInId: z.string(), act: actSchema, count: z.int() }),
};
export type Question = Opened<"question">;

export const questionsOf = (key: Uint8Array, issuer: string, clock: Clock): Questions => ({
  seal: (kind, content, lifeSeconds) =>
    new SignJWT({ content })
      .setProtectedHeader({ alg: "HS256", typ: `consent-${kind}+jwt` })
      .setIssuer(issuer)
      .setExpirationTime(Math.floor(clock.nowMs() / 1000) + lifeSeconds)
      .sign(key),
  async open(kind, sealed) {
    const options = { algorithms: ["HS256"], typ: `consent-${kind}+jwt`, issuer, currentDate: new Date(clock.nowMs()) };
    const verified = await jwtVerify(sealed, key, options).catch(() => undefined);
    const content = contents[kind].safeParse(verified?.payload.content).data;
    const exp = verified?.payload.exp;
    if (content === undefined || exp === undefined) return undefined;
    return { ...(content as Content<typeof kind>), expiresAtMs: exp * 1000 };
  },
});
