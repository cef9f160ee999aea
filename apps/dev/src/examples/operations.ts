/** The operations that the example ledger advertises (docs/reference/manifest.md#discovery-sources). */
export const operations = {
  read: { ref: "http:ledger/read_entry", data_classes: ["finance.entries"], access: "read", privileged: false },
  post: { ref: "http:ledger/post_entry", data_classes: ["finance.entries"], access: "write", privileged: true },
} as const;

export type Operation = (typeof operations)[keyof typeof operations];
