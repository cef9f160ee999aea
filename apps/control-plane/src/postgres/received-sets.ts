import type { ReceivedSets } from "../ports/security-events.ts";
import type { Pools } from "./database.ts";

/** Of the primary: another process may have received the token a moment ago. */
export const receivedSets = ({ reader, writer }: Pools<"reader" | "writer">): ReceivedSets => ({
  async has(hash) {
    const found = await reader.rows`select from received_set where token_hash = ${hash}`;
    return found.length > 0;
  },
  add: async (hash) => {
    await writer.rows`insert into received_set (token_hash) values (${hash}) on conflict do nothing`;
  },
});
