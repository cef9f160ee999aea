const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/;

/** Identifiers are opaque to clients; one that is none of ours is unknown, and never reaches a uuid column. */
export const isUuid = (text: string | undefined): text is string => text !== undefined && uuid.test(text);
