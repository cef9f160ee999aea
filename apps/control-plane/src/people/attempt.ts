import { EncryptJWT, errors, jwtDecrypt } from "jose";
import { z } from "zod";

/** A sign-in that was begun in a browser, which keeps it sealed in a cookie. No process stores it. */
const attempt = z.object({
  /** Of the sign-in that comes of it: no second one does. */
  signInId: z.string(),
  state: z.string(),
  nonce: z.string(),
  verifier: z.string(),
  next: z.string(),
});
export type Attempt = z.output<typeof attempt>;

export const attemptSeconds = 600;

const audience = "svc sign-in attempt";

/** A JWE (RFC 7516) under the key of every process. */
export const sealAttempt = (opened: Attempt, key: Uint8Array, nowMs: number): Promise<string> =>
  new EncryptJWT({ ...opened })
    .setProtectedHeader({ alg: "dir", enc: "A256GCM" })
    .setAudience(audience)
    .setExpirationTime(Math.floor(nowMs / 1000) + attemptSeconds)
    .encrypt(key);

/** Undefined for text that no process of ours sealed, or longer ago than the attempt's life. */
export async function openAttempt(sealed: string, key: Uint8Array, nowMs: number): Promise<Attempt | undefined> {
  try {
    const { payload } = await jwtDecrypt(sealed, key, {
      audience,
      requiredClaims: ["exp"],
      keyManagementAlgorithms: ["dir"],
      contentEncryptionAlgorithms: ["A256GCM"],
      currentDate: new Date(nowMs),
    });
    return attempt.safeParse(payload).data;
  } catch (error) {
    if (error instanceof errors.JOSEError) return undefined;
    throw error;
  }
}
