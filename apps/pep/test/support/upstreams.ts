import type { PepMode } from "../../src/modes.ts";
import type { Upstreams } from "../../src/upstreams/upstream.ts";
import { readUpstreams } from "../../src/upstreams/upstreams-file.ts";

/** The upstreams of a configuration given as a value. */
export function upstreamsFrom(upstreams: unknown[], defaultMode: PepMode = "enforce"): Upstreams {
  const readFile = (path: string) => `contents of ${path}`;
  const read = readUpstreams(JSON.stringify({ upstreams }), { defaultMode, readFile });
  if (!read.ok) throw new Error(read.faults.join("\n"));
  return read.upstreams;
}

export const ledger = {
  name: "ledger",
  url: "https://ledger.internal:8443",
  hosts: ["ledger.internal"],
  routes: [
    { methods: ["GET"], path: "/entries", target: "http:ledger/list_entries", data_class: "finance.entries" },
    { methods: ["GET"], path: "/entries/:id", target: "http:ledger/read_entry", data_class: "finance.entries" },
    { methods: ["POST"], path: "/entries", target: "http:ledger/post_entry", data_class: "finance.entries" },
    { methods: ["GET"], path: "/admin", target: "http:ledger/admin", data_class: "finance" },
    { methods: ["GET"], path: "/files/*", target: "http:ledger/read_file", data_class: "finance.files" },
    { methods: ["GET"], path: "/:page", target: "http:ledger/read_page", data_class: "public" },
  ],
};

export const files = {
  name: "files",
  url: "http://127.0.0.1:9300/mcp",
  hosts: ["files.internal"],
  protocol: "mcp",
  data_class: "docs",
  tools: { write_file: "docs.drafts", "#resources/read": "docs" },
};
