export interface Clock {
  /** Epoch milliseconds. */
  nowMs(): number;
}

export interface Ids {
  /** A UUIDv7. */
  next(): string;
}

export interface Secrets {
  /** 256 random bits in base64url. */
  next(): string;
}
