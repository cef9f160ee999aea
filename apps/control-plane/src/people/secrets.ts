import { createHash } from "node:crypto";
import type { Secrets } from "../ports/clock.ts";

export const sha256 = (text: string): Buffer => createHash("sha256").update(text).digest();

const prefixes = { code: "svc_code_", access: "svc_at_", refresh: "svc_rt_" } as const;

/** 32 random bytes, base64url. The prefix lets a scanner of secrets find it. */
export const newSecret = (kind: keyof typeof prefixes, { next }: Secrets): string => `${prefixes[kind]}${next()}`;
