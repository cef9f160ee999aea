/** What a browser shows. */
export interface Page {
  readonly url: URL;
  /** Undefined: the browser was led to this address, which is of none of its sites, and did not open it. */
  readonly status: number | undefined;
  readonly html: string;
}

/** A person's browser without scripts: it keeps cookies, follows redirects, and sends forms. */
export interface ScriptedBrowser {
  open(url: string | URL): Promise<Page>;
  /**
   * Presses the button with this text. The form is sent with its hidden fields, its choices, and `fields`.
   * @throws where the page has no such button
   */
  press(page: Page, button: string, fields?: Readonly<Record<string, string>>): Promise<Page>;
}

/** @param sites the origins that it opens */
export function scriptedBrowser(sites: readonly string[]): ScriptedBrowser {
  const jars = new Map(sites.map((site) => [new URL(site).origin, new Map<string, string>()]));

  async function send(url: URL, form?: URLSearchParams): Promise<Page> {
    const jar = jars.get(url.origin);
    if (jar === undefined) return { url, status: undefined, html: "" };
    const response = await fetch(url, {
      redirect: "manual",
      headers: {
        cookie: [...jar].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(form && { origin: url.origin, "sec-fetch-site": "same-origin" }),
      },
      ...(form && { method: "POST", body: form }),
    });
    keepCookies(jar, response.headers);
    const html = await response.text();
    const location = response.headers.get("location");
    return location === null ? { url, status: response.status, html } : send(new URL(location, url));
  }

  return {
    open: (url) => send(new URL(url)),
    press(page, button, fields = {}) {
      const { action, body } = formOf(page.html, button);
      for (const [name, value] of Object.entries(fields)) body.set(name, value);
      return send(new URL(action, page.url), body);
    },
  };
}

function keepCookies(jar: Map<string, string>, headers: Headers): void {
  for (const set of headers.getSetCookie()) {
    const [name = "", value = ""] = (set.split(";")[0] ?? "").split(/=(.*)/s);
    if (/;\s*max-age=0(;|$)/i.test(set) || /;\s*expires=Thu, 01 Jan 1970/i.test(set)) jar.delete(name);
    else jar.set(name, value);
  }
}

/** The form with the button, as a browser sends it. Enough for the pages of this project. */
function formOf(html: string, text: string): { action: string; body: URLSearchParams } {
  for (const [, attributes = "", content = ""] of html.matchAll(/<form\b([^>]*)>([\s\S]*?)<\/form>/g)) {
    const buttons = [...content.matchAll(/<button\b([^>]*)>([\s\S]*?)<\/button>/g)];
    const pressed = buttons.find(([, , label = ""]) => decoded(label).trim() === text);
    if (pressed === undefined) continue;
    const hidden = [...content.matchAll(/<input\b([^>]*type="hidden"[^>]*)>/g)].map(([, input = ""]) => input);
    const body = new URLSearchParams([...hidden, pressed[1] ?? ""].flatMap(namedValue).concat(choices(content)));
    return { action: attributeOf(attributes, "action") ?? "", body };
  }
  throw new Error(
    `the page has no button "${text}": ${html.replaceAll(/<style[\s\S]*?<\/style>|<[^>]*>/g, " ").trim()}`,
  );
}

const namedValue = (attributes: string): [string, string][] => {
  const name = attributeOf(attributes, "name");
  return name === undefined ? [] : [[name, attributeOf(attributes, "value") ?? ""]];
};

/** The chosen option of each select. */
const choices = (content: string): [string, string][] =>
  [...content.matchAll(/<select\b([^>]*)>([\s\S]*?)<\/select>/g)].map(([, select = "", options = ""]) => {
    const all = [...options.matchAll(/<option\b([^>]*)>/g)].map(([, option = ""]) => option);
    const chosen = all.find((option) => /\sselected\b/.test(option)) ?? all[0] ?? "";
    return [attributeOf(select, "name") ?? "", attributeOf(chosen, "value") ?? ""];
  });

const attributeOf = (attributes: string, name: string): string | undefined => {
  const value = new RegExp(`(?:^|\\s)${name}="([^"]*)"`).exec(attributes)?.[1];
  return value === undefined ? undefined : decoded(value);
};

const entities: Readonly<Record<string, string>> = { lt: "<", gt: ">", quot: '"', "#39": "'", amp: "&" };
const decoded = (text: string): string =>
  text.replaceAll(/&(lt|gt|quot|#39|amp);/g, (all, name) => entities[name] ?? all);
