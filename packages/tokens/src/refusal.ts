/** A refusal is a value; its cause is of a closed set. */
export const refuse = <Cause extends string>(cause: Cause) => ({ ok: false, cause }) as const;
