import { createApp } from "../src/routes/app.ts";
import type { Deps } from "../src/routes/deps.ts";
import { recorder } from "./decision-rows.ts";
import { startPlane, tokens } from "./support.ts";

export interface Seen {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
}

/** A visitor of the console: what a browser would send, without one. */
export function visitor(deps: Deps) {
  const app = createApp(deps);
  const ask = async (path: string, init: RequestInit = {}): Promise<Seen> => {
    const response = await app.request(path, init);
    return { status: response.status, headers: response.headers, text: await response.text() };
  };
  const post = (path: string, form: Readonly<Record<string, string>>, headers: Readonly<Record<string, string>> = {}) =>
    ask(path, {
      method: "POST",
      body: new URLSearchParams(form),
      headers: { "sec-fetch-site": "same-origin", ...headers },
    });
  const signIn = (token: string, next = "/console") => post("/console/sign-in", { token, next });
  return {
    ask,
    post,
    signIn,
    /** The `Cookie` header after a sign-in with this token. */
    cookieOf: async (token: string = tokens.audit): Promise<string> => cookieIn(await signIn(token)),
    /** Requests a page after a sign-in. */
    look: async (path: string, token: string = tokens.audit): Promise<Seen> =>
      ask(path, { headers: { cookie: cookieIn(await signIn(token)) } }),
  };
}

const cookieIn = ({ headers }: Seen): string => (headers.get("set-cookie") ?? "").split(";")[0] ?? "";

/** The text of a page, as a browser shows it. */
export const unescaped = (html: string): string =>
  html
    .replaceAll("&quot;", '"')
    .replaceAll("&#39;", "'")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&");

/** Of the decisions that a page links to, in order. */
export const ids = (text: string): string[] => [
  ...new Set([...text.matchAll(/\/console\/actions\/([0-9a-f-]{36})/g)].map(([, id]) => id ?? "")),
];

/** A control plane with its record's writer, and what an auditor sees of both. */
export async function startConsole() {
  const plane = await startPlane();
  const records = await recorder(plane);
  return {
    plane,
    records,
    look: visitor(plane.deps).look,
    api: async (path: string) => (await plane.send(path, { token: tokens.audit })).json,
    async stop() {
      await records.sql.end();
      await plane.stop();
    },
  };
}
