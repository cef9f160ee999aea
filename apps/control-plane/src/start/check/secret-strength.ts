import { deflateRawSync } from "node:zlib";

/** Five letters or more: a random token holds none of these by chance. */
const words =
  /change.?me|password|passwd|secret|token|admin|audit|identity|example|default|letmein|qwert|abcdef|123456|dummy|sample/i;

/** 16 random bytes measure 70 bits and more, however they are written. */
const leastSpreadBits = 64;
/** They deflate to 190 bits and more, a repetition to 120 and less. */
const leastDeflatedBits = 128;

/**
 * What a guesser would try first: a word, few different characters, a repetition. A secret that passes may be bad all
 * the same; one that fails was not drawn at random.
 */
export const looksGuessable = (secret: string): boolean =>
  words.test(secret) ||
  spreadBits(secret) < leastSpreadBits ||
  deflateRawSync(secret, { level: 9 }).length * 8 < leastDeflatedBits;

/** Shannon's measure over the characters. */
function spreadBits(secret: string): number {
  const counts = new Map<string, number>();
  for (const character of secret) counts.set(character, (counts.get(character) ?? 0) + 1);
  const shares = [...counts.values()].map((count) => count / secret.length);
  return -secret.length * shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
}
