const withoutCode = (markdown: string): string => markdown.replace(/^( *)(`{3,}).*?^\1\2/gms, "");

/** The anchor that GitHub gives a heading. */
const slugOf = (heading: string): string =>
  heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}\- _]/gu, "")
    .replaceAll(" ", "-");

/** Every anchor of a page: its headings, a repeated one numbered, and every `id`. */
export function anchorsOf(markdown: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  const text = withoutCode(markdown);
  for (const [, heading = ""] of text.matchAll(/^#{1,6} +(.+)$/gm)) {
    const slug = slugOf(heading);
    let anchor = slug;
    for (let repeat = 1; anchors.has(anchor); repeat++) anchor = `${slug}-${repeat}`;
    anchors.add(anchor);
  }
  for (const [, id = ""] of text.matchAll(/<a id="([^"]+)">/g)) anchors.add(id);
  return anchors;
}

export interface Link {
  /** Empty for the page itself. */
  readonly path: string;
  readonly anchor: string | undefined;
}

/** The links of a page that lead into the repository. */
export function relativeLinks(markdown: string): readonly Link[] {
  const text = withoutCode(markdown).replace(/`[^`\n]*`/g, "");
  const targets = [...text.matchAll(/\]\(([^)\s]+)\)/g)].map(([, target = ""]) => target);
  return targets
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => {
      const [path = "", anchor] = target.split("#");
      return { path, anchor };
    });
}
