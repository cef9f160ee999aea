/**
 * Why a YAML scalar is not the same number to every reader; undefined where it is. YAML 1.1 reads `010` as 8 and YAML 1.2
 * as 10, so what its author means is not known.
 */
export const octalFault = ({ value, source = "" }: { value: unknown; source?: string }): string | undefined =>
  typeof value === "number" && /^[-+]?0\d/.test(source)
    ? `${source} is ${value} here, and an octal number to YAML 1.1. Write it without the leading zero.`
    : undefined;
