/** A refusal is a value; its cause is of a closed set. */
export const refuse = <Cause extends string>(cause: Cause) => ({ ok: false, cause }) as const;

export interface ClockOptions {
  readonly nowSeconds: number;
  /** How far `iat` and `nbf` may be in the future. Default 5. */
  readonly futureLeewaySeconds?: number;
  /** How long after `exp` it is still valid: 0 on the issuer's own clock (the default), 5 on another machine's. */
  readonly expLeewaySeconds?: number;
}

interface Dates {
  readonly iat: number;
  readonly nbf?: number | undefined;
  readonly exp: number;
}

/** Undefined for a token or proof that is valid now. */
export function timeRefusal(
  { iat, nbf = iat, exp }: Dates,
  { nowSeconds, futureLeewaySeconds = 5, expLeewaySeconds = 0 }: ClockOptions,
): "not_yet_valid" | "expired" | undefined {
  if (Math.max(iat, nbf) > nowSeconds + futureLeewaySeconds) return "not_yet_valid";
  // RFC 7519 section 4.1.4: "on or after", so the exact second is too late.
  return nowSeconds >= exp + expLeewaySeconds ? "expired" : undefined;
}
