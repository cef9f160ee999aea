import { type DefinitionPin, sessionTargetPage } from "@svc/core";
import { type HopCredential, type HopPorts, parseBody, send } from "@svc/hop";
import type { SessionTargets } from "../protocols/protocol.ts";

const maxPages = 64;
const maxResponseBytes = 1024 * 1024;

type Cursor = string | null;
/** Undefined: no usable answer. `same`: the page that the tag names. */
type PageRead = Awaited<ReturnType<ReturnType<typeof pageReader>>>;
type ReadPage = (cursor: Cursor, etag?: string) => Promise<PageRead>;

/** Reads every page of `GET /v1/session/targets`. It spends no token. Undefined if any page fails. */
export const fetchSessionTargets = (ports: HopPorts, credential: HopCredential): Promise<SessionTargets | undefined> =>
  withReader(ports, credential, async (readPage) => {
    const allowed = new Map<string, readonly string[]>();
    const pins = new Map<string, DefinitionPin>();
    let cursor: Cursor = null;
    for (let page = 0; page < maxPages; page++) {
      const read = await readPage(cursor);
      if (read === undefined || read === "same") return undefined;
      for (const { target, data_classes, definition_hash: hash, definition_parts: parts = "" } of read.data) {
        allowed.set(target, data_classes);
        if (hash !== undefined) pins.set(target, { hash, parts });
      }
      cursor = read.next;
      if (cursor === null) return { allowed, pins };
    }
    return undefined;
  });

/**
 * Asks every `everyMs` whether what the caller may call is still the same, and calls `onChange` when it is not. An answer
 * that cannot be used changes nothing. @returns ends it
 */
export function watchAllowedTools(
  ports: HopPorts,
  credential: HopCredential,
  everyMs: number,
  onChange: () => void,
): () => void {
  let known: readonly KnownPage[] | undefined;
  let timer: NodeJS.Timeout | undefined;
  let isStopped = false;
  const poll = async () => {
    const pages = await withReader(ports, credential, (readPage) => tagsOf(readPage, known)).catch(() => undefined);
    if (isStopped) return;
    if (pages && known && !hasSameTags(pages, known)) onChange();
    known = pages ?? known;
    timer = setTimeout(() => void poll(), everyMs);
  };
  void poll();
  return () => {
    isStopped = true;
    clearTimeout(timer);
  };
}

interface KnownPage {
  readonly etag: string | undefined;
  readonly next: Cursor;
}

const hasSameTags = (one: readonly KnownPage[], other: readonly KnownPage[]): boolean =>
  one.length === other.length && one.every(({ etag }, at) => etag === other[at]?.etag);

/** A page that did not change ends where it ended before. */
async function tagsOf(readPage: ReadPage, known: readonly KnownPage[] = []): Promise<KnownPage[] | undefined> {
  const pages: KnownPage[] = [];
  let cursor: Cursor = null;
  do {
    const before: KnownPage | undefined = known[pages.length];
    const read: PageRead = await readPage(cursor, before?.etag);
    const page: KnownPage | undefined = read === "same" ? before : read;
    if (page === undefined || pages.length === maxPages) return undefined;
    pages.push(page);
    cursor = page.next;
  } while (cursor !== null);
  return pages;
}

/** Undefined if no token can be leased. */
async function withReader<T>(
  ports: HopPorts,
  credential: HopCredential,
  read: (readPage: ReadPage) => Promise<T | undefined>,
): Promise<T | undefined> {
  const { steps, pool, limits } = ports;
  const endsMs = steps.monotonicMs() + limits.hopMs;
  const deadline = () => ({ deadlineMs: Math.min(limits.stepMs, endsMs - steps.monotonicMs()) });
  const leased = await pool.leaseToDecide(credential, deadline());
  if (leased.kind !== "leased") return undefined;
  const { lease } = leased;
  try {
    return await read(pageReader(ports, lease.token, deadline));
  } finally {
    lease.giveBack();
  }
}

const pageReader =
  ({ steps }: HopPorts, token: string, deadline: () => { deadlineMs: number }) =>
  async (cursor: Cursor, etag?: string) => {
    const path = `/v1/session/targets?${new URLSearchParams({ limit: "200", ...(cursor !== null && { cursor }) })}`;
    const headers = { authorization: `Bearer ${token}`, ...(etag !== undefined && { "if-none-match": etag }) };
    const sent = await send(steps, { method: "GET", path, headers, maxResponseBytes }, deadline());
    if (sent.kind === "unusable") return undefined;
    if (sent.response.status === 304) return "same" as const;
    const body = sent.response.status === 200 ? parseBody(sessionTargetPage, sent.response) : undefined;
    return body && { data: body.data, etag: sent.response.headers.etag, next: body.page.next_cursor };
  };
