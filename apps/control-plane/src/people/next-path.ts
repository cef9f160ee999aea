/** Where a sign-in may lead. */
const places = /^\/(?:console|consent|me|oauth\/authorize)(?:[/?][!-~]*)?$/;

/** The console's own pages for signing in and out. */
const loops = /^\/console\/sign-/;

/** Where a sign-in leads that names no page of ours. */
const start = "/me";

/**
 * A path and query of these pages; `/me` in place of any other text. A browser must read it as written: no other
 * host, no dot segments, no backslash, no fragment.
 */
export function nextPath(next: string | undefined): string {
  if (next === undefined || !places.test(next) || loops.test(next)) return start;
  const read = URL.parse(next, "http://here.invalid");
  return read !== null && `${read.pathname}${read.search}` === next && !/[\\#]/.test(next) ? next : start;
}
