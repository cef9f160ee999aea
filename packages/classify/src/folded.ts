/** Case folding of the most liberal JSON decoders: U+017F is an `s`, U+212A a `k`. */
export const folded = (name: string): string => name.toUpperCase().toLowerCase();
