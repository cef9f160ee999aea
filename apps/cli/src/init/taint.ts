import type { Taint } from "@svc/core";
import { fact, guess, type Note } from "./offer.ts";

/** Words in a name of a tool whose results come from outside. */
const outside = new Set([
  ...["fetch", "browse", "browser", "crawl", "scrape", "download", "web", "website", "webpage", "url", "internet"],
  ...["email", "emails", "mail", "mails", "inbox", "message", "messages", "comment", "comments", "feed", "rss"],
]);

interface Judged {
  readonly resultTaint: Taint;
  readonly notes: readonly Note[];
}

/**
 * Whether outsiders can write what a tool returns. Without a hint they can, unless a person gives `--trusted`.
 * @param openWorld the server's `openWorldHint`
 */
export function judgeResults(name: string, openWorld: boolean | undefined, isTrusted: boolean): Judged {
  const untrusted = (note: Note): Judged => ({ resultTaint: "untrusted_external", notes: [note] });
  if (openWorld === true) return untrusted(fact("untrusted results: openWorldHint is true"));
  const word = wordsOf(name).find((each) => outside.has(each));
  if (word !== undefined) return untrusted(guess(`untrusted results: "${word}" is in its name`));
  if (openWorld === false || isTrusted) return { resultTaint: "trusted_internal", notes: [] };
  return untrusted(guess("untrusted results: no hint, and no --trusted"));
}

/** `read_webPage` has read, web and page. */
const wordsOf = (name: string): readonly string[] =>
  name
    .replaceAll(/([a-z0-9])([A-Z])/g, "$1 $2")
    .toLowerCase()
    .split(/[^a-z0-9]+/);
