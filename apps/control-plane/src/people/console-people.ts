import type { ConsolePeople } from "@svc/console";
import { LRUCache } from "lru-cache";
import type { ConsentDeps } from "./consent-deps.ts";
import { consoleActs } from "./console-acts.ts";
import { endOwnSignIn, type SignInDeps } from "./sign-in.ts";
import { type SignedIn, signInPages } from "./signed-in.ts";

/** The console's view of people who signed in. */
export function consolePeople(deps: ConsentDeps & SignInDeps): ConsolePeople {
  const pages = signInPages(deps);
  const recordView = viewRecorder(deps);
  return {
    providerHost: deps.people.providerIssuer.host,
    async holder(c) {
      const signedIn = await pages.holder(c);
      if (signedIn === undefined) return undefined;
      const { signInId: id, name, subject, roles } = signedIn;
      const label = name ?? subject;
      const mayAct = roles.includes("admin");
      const plane = mayAct ? "admin" : roles[0];
      return {
        viewer: plane && { plane, label, id, mayAct },
        acts: mayAct ? consoleActs(deps, pages, signedIn) : undefined,
        label,
        recordView: (page) => recordView(signedIn, page),
      };
    },
    end: (c) => endOwnSignIn(c, deps, "signed out"),
  };
}

const longestPath = 500;

/** Live follow loads a page every two seconds. */
const repeatMs = 600_000;
const rememberedViews = 10_000;

/** Writes an event, unless this process wrote the same one a short while ago. */
function viewRecorder({ clock, ids, signIns }: SignInDeps) {
  const recordedMs = new LRUCache<string, number>({ max: rememberedViews });
  return async ({ signInId, subject, issuer }: SignedIn, page: PageView): Promise<void> => {
    const details = { path: page.path.slice(0, longestPath), parameters: page.parameters.toSorted().join(",") };
    const view = `${signInId} ${details.path} ${details.parameters}`;
    const atMs = clock.nowMs();
    if (atMs - (recordedMs.get(view) ?? Number.NEGATIVE_INFINITY) < repeatMs) return;
    await signIns.recordView({
      eventId: ids.next(),
      kind: "console_viewed",
      atMs,
      actor: subject,
      details: { sign_in_id: signInId, issuer, ...details },
    });
    recordedMs.set(view, atMs);
  };
}

interface PageView {
  readonly path: string;
  readonly parameters: readonly string[];
}
