import type { Offer } from "./offer.ts";
import type { Source } from "./source.ts";

/** What a source was asked, judged when it is known who can write its results. */
export type Asked = (isTrusted: boolean) => Offer;

/** Reads what a source offers. @throws {Fault} that says what to do */
export async function askSource(source: Source, credentials: ReadonlyMap<string, string>): Promise<Asked> {
  switch (source.kind) {
    case "mcp":
    case "stdio": {
      const [{ askMcp }, { mcpOffer }] = await Promise.all([import("./ask-mcp.ts"), import("./mcp-offer.ts")]);
      const server = await askMcp(source, credentials);
      return (isTrusted) => mcpOffer(source, server, isTrusted);
    }
    case "openapi": {
      const [{ readOpenApi }, { openApiOffer }] = await Promise.all([
        import("./read-openapi.ts"),
        import("./openapi-offer.ts"),
      ]);
      const document = await readOpenApi(source);
      return (isTrusted) => openApiOffer(source, document, isTrusted);
    }
    case "http": {
      const { httpOffer } = await import("./http-offer.ts");
      return (isTrusted) => httpOffer(source, isTrusted);
    }
    default:
      return source satisfies never;
  }
}

/** Whether the trust of results makes a difference: a tool has no hint. */
export const isOpenQuestion = (asked: Asked): boolean =>
  JSON.stringify(asked(true).tools) !== JSON.stringify(asked(false).tools);
