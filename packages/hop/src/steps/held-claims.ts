import { rememberDecoded } from "@svc/tokens";

/**
 * What the tokens that are held say, unverified: a sibling is read when it is issued, and once more when it is spent. Only the
 * text decides what is remembered, so that whoever asks gets the same.
 */
export const heldClaims = rememberDecoded({ capacity: 1024 });
