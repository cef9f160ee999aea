import type { Act, Again, AskedAct, Committed, ConsoleActs } from "@svc/console";
import { sentence } from "@svc/core";
import { sha256Base64url } from "@svc/tokens";
import { decodeQuery } from "../http/query.ts";
import { SignInOver } from "../ports/sign-ins.ts";
import { actSchema } from "./act-schema.ts";
import { essenceOf, isDue, stateOf } from "./act-state.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { perform } from "./perform-act.ts";
import type { Opened } from "./questions.ts";
import type { SignedIn, SignInPages } from "./signed-in.ts";

/** Long enough to read it and to write a reason. */
const questionSeconds = 900;
/** Until the redirect. */
const resultSeconds = 60;
const longestPath = 500;

/** What an administrator may do from the console's pages. It is asked first, sealed, and done once. */
export function consoleActs(deps: ConsentDeps, pages: SignInPages, signedIn: SignedIn): ConsoleActs {
  const { questions, ids } = deps;
  const { signInId } = signedIn;

  async function ask(act: Act, from: string): Promise<AskedAct | undefined> {
    const state = await stateOf(deps, act);
    if (state === undefined) return undefined;
    const content = { id: ids.next(), signInId, act, from, shown: sha256Base64url(essenceOf(state)) };
    const question = await questions.seal("act", content, questionSeconds);
    return { act, state, isDue: isDue(act.act, state), from, question, formToken: pages.formToken(signedIn) };
  }

  /** Asked anew, with what is so now. */
  async function again(why: Again, { act, from }: Opened<"act">, reason = ""): Promise<Committed> {
    const asked = await ask(act, from);
    return asked === undefined ? { kind: "question_over" } : { kind: "again", why, asked, reason };
  }

  async function isAsShown({ act, shown }: Opened<"act">): Promise<boolean> {
    const state = await stateOf(deps, act);
    return state !== undefined && isDue(act.act, state) && sha256Base64url(essenceOf(state)) === shown;
  }

  async function act(question: Opened<"act">, reason: string): Promise<Committed> {
    const { id: questionId, expiresAtMs, from } = question;
    const page = (from.split("?")[0] ?? "").slice(0, longestPath);
    const onPage = { signInId, issuer: signedIn.issuer, page };
    // Before the act: an act that fails is asked anew, and none is done twice.
    if (!(await deps.consents.spend({ questionId, atMs: deps.clock.nowMs(), expiresAtMs }))) {
      return again("answered", question, reason);
    }
    const count = await perform(deps, question.act, reason, { by: signedIn.subject, onPage });
    if (count === 0) return again("changed", question, reason);
    const result = await questions.seal("done", { signInId, act: question.act, count }, resultSeconds);
    return { kind: "done", from, result };
  }

  return {
    ask: (query, from) => ask(decodeQuery(query, actSchema), from),
    async commit(c, fields) {
      if (!pages.isOwnForm(c, signedIn, fields.get("form"))) return { kind: "foreign_form" };
      const question = await questions.open("act", fields.get("question") ?? "");
      if (question?.signInId !== signInId) return { kind: "question_over" };
      // A form's line breaks are CRLF (WHATWG HTML, form submission).
      const typed = (fields.get("reason") ?? "").replaceAll("\r\n", "\n").trim();
      const reason = sentence.safeParse(typed);
      if (!reason.success) return again(typed === "" ? "reason_missing" : "reason_unusable", question, typed);
      if (!(await isAsShown(question))) return again("changed", question, typed);
      return act(question, reason.data).catch(unlessSignedOut);
    },
    async result(sealed) {
      const done = await questions.open("done", sealed);
      return done?.signInId === signInId ? done : undefined;
    },
  };
}

function unlessSignedOut(error: unknown): Committed {
  if (error instanceof SignInOver) return { kind: "signed_out" };
  throw error;
}
