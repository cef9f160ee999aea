import type { RawHeaders } from "../../message/headers.ts";
import type { BodyFilter } from "../protocol.ts";
import { AnswerRefused, type ListContext } from "./held-message.ts";
import { listFilter } from "./list-filter.ts";

/** Reads the lists of an answer, which passes byte by byte as it is. What cannot be read is not seen. */
export function listObserver(context: ListContext, status: number, headers: RawHeaders): BodyFilter | undefined {
  const filter = listFilter(context, status, headers);
  if (filter === undefined || "body" in filter) return undefined;
  let isRead = true;
  const read = (step: () => void): void => {
    if (!isRead) return;
    try {
      step();
    } catch (error) {
      if (!(error instanceof AnswerRefused)) throw error;
      isRead = false;
    }
  };
  return {
    keepsBody: true,
    push(chunk) {
      read(() => filter.push(chunk));
      return chunk;
    },
    end() {
      read(() => filter.end());
      return Buffer.alloc(0);
    },
  };
}
