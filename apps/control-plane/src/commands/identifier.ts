const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Other identifiers are unknown, and must not reach a uuid column. */
export const isUuid = (text: string | undefined): text is string => text !== undefined && uuid.test(text);
