/** One page of a list (docs/reference/conventions.md#pages). */
export interface Page<Item> {
  readonly data: readonly Item[];
  readonly page: {
    /** Null on the last page. */
    readonly nextCursor: string | null;
    readonly limit: number;
  };
}

/** Query of every paged read. */
export interface PageQuery {
  /** 1-200; the control plane's default is 50. */
  readonly limit?: number | undefined;
  /** `page.nextCursor` of the page before, of the same query. */
  readonly cursor?: string | undefined;
}

/** Every row of a list; pages are read as the loop needs them. */
export async function* everyRow<Row>(
  read: (cursor: string | undefined) => Promise<Page<Row>>,
): AsyncGenerator<Row, void, undefined> {
  let cursor: string | undefined;
  do {
    const { data, page } = await read(cursor);
    yield* data;
    cursor = page.nextCursor ?? undefined;
  } while (cursor !== undefined);
}
