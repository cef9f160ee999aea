import type { OpenIdProvider } from "@svc/test-support/openid-provider";

/** What a browser shows after a request and every redirect that it followed. */
export interface Shown {
  readonly url: URL;
  readonly status: number;
  readonly text: string;
  readonly headers: Headers;
}

/** A person's browser without scripts: cookies of the control plane, its redirects, its forms. */
export interface PersonBrowser {
  /** Follows redirects until a page, or an address of another site. At the provider it signs in. */
  visit(url: string | URL): Promise<Shown>;
  /** Sends the form of a page with its hidden fields, and these. `at`: another process of the same issuer. */
  submit(
    page: Shown,
    fields: Readonly<Record<string, string>>,
    headers?: Readonly<Record<string, string>>,
    at?: string,
  ): Promise<Shown>;
  readonly cookies: Map<string, string>;
}

export function personBrowser(base: string, provider: OpenIdProvider, person: string): PersonBrowser {
  const cookies = new Map<string, string>();
  const { origin } = new URL(base);

  async function send(
    url: URL,
    form?: URLSearchParams,
    headers: Readonly<Record<string, string>> = {},
  ): Promise<Shown> {
    const response = await fetch(url, {
      redirect: "manual",
      headers: {
        cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join("; "),
        ...(form && { origin, "sec-fetch-site": "same-origin" }),
        ...headers,
      },
      ...(form && { method: "POST", body: form }),
    });
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split(/=(.*)/s);
      cookies.set(name, value);
    }
    const location = response.headers.get("location");
    if (location === null)
      return { url, status: response.status, text: await response.text(), headers: response.headers };
    await response.body?.cancel();
    return follow(new URL(location, url));
  }

  async function follow(url: URL): Promise<Shown> {
    if (url.origin === new URL(provider.issuer).origin) return follow(await provider.logIn(url, person));
    if (url.origin === origin) return send(url);
    return { url, status: 0, text: "", headers: new Headers() };
  }

  return {
    cookies,
    visit: (url) => follow(new URL(url, base)),
    submit(page, fields, headers, at = base) {
      const form =
        /<form class="answer"[\s\S]*?<\/form>|<form[^>]*action="\/me\/end"[\s\S]*?<\/form>/.exec(page.text)?.[0] ?? "";
      const action = /action="([^"]*)"/.exec(form)?.[1] ?? "";
      const hidden = [...form.matchAll(/<input type="hidden" name="([^"]*)" value="([^"]*)">/g)];
      const all = new URLSearchParams(hidden.map(([, name = "", value = ""]): [string, string] => [name, value]));
      for (const [name, value] of Object.entries(fields)) all.set(name, value);
      return send(new URL(action, at), all, { origin: new URL(at).origin, ...headers });
    },
  };
}
