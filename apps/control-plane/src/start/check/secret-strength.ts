import { deflateRawSync } from "node:zlib";

/** Too long to be in a random token by chance. */
const words =
  /change.?me|password|passwd|secret|token|admin|audit|identity|example|default|letmein|qwert|abcdef|123456|dummy|sample/i;

/** 16 random bytes have 70 bits and more, in any encoding. */
const leastSpreadBits = 64;
/** 16 random bytes deflate to 190 bits and more, a repetition to 120 and less. */
const leastDeflatedBits = 128;

/** A word, few different characters, or a repetition. A secret that passes may still be weak. */
export const looksGuessable = (secret: string): boolean =>
  words.test(secret) ||
  spreadBits(secret) < leastSpreadBits ||
  deflateRawSync(secret, { level: 9 }).length * 8 < leastDeflatedBits;

/** Shannon entropy over the characters. */
function spreadBits(secret: string): number {
  const counts = new Map<string, number>();
  for (const character of secret) counts.set(character, (counts.get(character) ?? 0) + 1);
  const shares = [...counts.values()].map((count) => count / secret.length);
  return -secret.length * shares.reduce((sum, share) => sum + share * Math.log2(share), 0);
}
