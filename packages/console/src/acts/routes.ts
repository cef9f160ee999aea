import type { Context, Hono } from "hono";
import type { Host } from "../host.ts";
import { href } from "../markup.ts";
import type { ConsolePerson, Viewer } from "../ports.ts";
import { nextWithin, toSignIn } from "../sign-in.ts";
import type { ConsoleActs } from "./act.ts";
import { actPath } from "./offer.ts";
import { confirmView, notAllowedView, nothingView, refusedViews } from "./view.ts";

/** Asks by GET, acts by POST, and leads back to the page that it was done from. */
export function actRoutes(app: Hono, host: Host): void {
  app.get(actPath, async (c) => {
    const person = await host.people?.holder(c);
    if (person === undefined && host.cookies.holder(c) === undefined) return toSignIn(c);
    if (!isAdministrator(person)) return host.show(c, notAllowedView);
    await host.countCall(person.viewer);
    const { from, ...query } = host.readQuery(c.req.raw.url);
    await person.recordView({ path: c.req.path, parameters: Object.keys(query) });
    const asked = await person.acts.ask(query, nextWithin(from));
    return host.show(c, asked === undefined ? nothingView : confirmView(asked), person.viewer);
  });
  app.post(actPath, async (c) => {
    const person = await host.people?.holder(c);
    if (person === undefined && host.cookies.holder(c) === undefined) return host.show(c, refusedViews.signed_out);
    if (!isAdministrator(person)) return host.show(c, notAllowedView);
    await host.countCall(person.viewer);
    return commit(c, host, person);
  });
}

type Administrator = ConsolePerson & { readonly acts: ConsoleActs; readonly viewer: Viewer };

const isAdministrator = (person: ConsolePerson | undefined): person is Administrator =>
  person?.acts !== undefined && person.viewer !== undefined;

async function commit(c: Context, host: Host, { acts, viewer }: Administrator): Promise<Response> {
  const committed = await acts.commit(c, await host.readForm(c.req.raw));
  switch (committed.kind) {
    case "done":
      return c.redirect(withResult(committed.from, committed.result), 303);
    case "again":
      return host.show(c, confirmView(committed.asked, committed), viewer);
    default:
      return host.show(c, refusedViews[committed.kind], committed.kind === "signed_out" ? undefined : viewer);
  }
}

function withResult(from: string, done: string): string {
  const [path = "", query = ""] = from.split(/\?(.*)/s);
  return href(path, { ...Object.fromEntries(new URLSearchParams(query)), done });
}
