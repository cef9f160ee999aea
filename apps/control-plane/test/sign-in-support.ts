import {
  type OpenIdProvider,
  signInClient,
  signInSettings,
  startOpenIdProvider,
} from "@svc/test-support/openid-provider";
import { createApp } from "../src/routes/app.ts";
import type { Deps } from "../src/routes/deps.ts";
import { startPlane } from "./support.ts";

/** A control plane that signs people in at a real OpenID provider. */
export async function startSignIn(env: Record<string, string> = {}) {
  const provider = await startOpenIdProvider({ clients: [signInClient("https://plane.test")] });
  const plane = await startPlane({ ...signInSettings(provider), ...env });
  return {
    ...plane,
    provider,
    async stop() {
      await Promise.all([plane.stop(), provider.stop()]);
    },
  };
}

export type Browser = ReturnType<typeof browser>;

/** The same cookies in another browser, which may be led to another process. */
export function copyOf({ cookies }: Browser, deps: Deps): Browser {
  const copy = browser(deps);
  for (const [name, value] of cookies) copy.cookies.set(name, value);
  return copy;
}

/** Whether the console shows its pages to this browser. */
export const opensConsole = async ({ send }: Browser): Promise<boolean> => (await send("/console")).status === 200;

/** A person's browser: it keeps cookies, and follows no redirect by itself. */
export function browser(deps: Deps) {
  const app = createApp(deps);
  const cookies = new Map<string, string>();
  const send = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const headers = new Headers(init.headers);
    if (cookies.size > 0) headers.set("cookie", [...cookies].map((pair) => pair.join("=")).join("; "));
    const response = await app.request(path, { ...init, headers });
    for (const set of response.headers.getSetCookie()) {
      const [name = "", value = ""] = (set.split(";")[0] ?? "").split(/=(.*)/s);
      if (/max-age=0/i.test(set)) cookies.delete(name);
      else cookies.set(name, value);
    }
    return response;
  };
  /** Begins a sign-in; the provider's address. */
  const begin = async (next?: string): Promise<URL> => {
    const response = await send(`/sign-in${next === undefined ? "" : `?${new URLSearchParams({ next })}`}`);
    const location = response.headers.get("location");
    if (response.status !== 303 || location === null) throw new Error(`${response.status} ${await response.text()}`);
    return new URL(location);
  };
  /** Follows the provider's redirect. */
  const callback = ({ pathname, search }: URL): Promise<Response> => send(`${pathname}${search}`);
  return {
    cookies,
    send,
    begin,
    callback,
    signIn: async (provider: OpenIdProvider, person: string, next?: string): Promise<Response> =>
      callback(await provider.logIn(await begin(next), person)),
  };
}
