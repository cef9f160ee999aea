import type { Context } from "hono";
import { type Answered, allow, refuse } from "./answer.ts";
import { redirectWith } from "./authorize-request.ts";
import { type PersonHost, readPosted } from "./person-pages.ts";
import type { Question } from "./questions.ts";
import { backToClient, linkOver, showQuestion } from "./questions-shown.ts";
import type { SignedIn } from "./signed-in.ts";

/** The person's answer to a question that a page of this sign-in asked. */
export async function takeAnswer(host: PersonHost, c: Context): Promise<Response> {
  const posted = await readPosted(host, c);
  if (posted instanceof Response) return posted;
  const { signedIn, fields } = posted;
  const question = await host.questions.open("question", fields.get("question") ?? "");
  if (question === undefined || question.signInId !== signedIn.signInId) {
    const next = "Start again from the application, or from the agent's link.";
    return host.say(c, signedIn, "deny", "This question is over", "It was not answered in time.", next, 410);
  }
  switch (fields.get("answer")) {
    case "refuse":
      return refused(host, c, signedIn, question);
    case "allow": {
      const answer = await allow(host, signedIn, question, ttlOf(fields.get("ttl")));
      return allowed(host, c, signedIn, { question, answer });
    }
    default:
      return host.say(c, signedIn, "deny", "No answer", "The form has no answer.", "Go back, and choose one.", 400);
  }
}

const longestSeconds = 86_400;
const shortestSeconds = 60;

/** Of a form that was tampered with, the shortest. */
function ttlOf(text: string | undefined): number {
  const seconds = Number(/^\d{1,5}$/.exec(text ?? "")?.[0] ?? shortestSeconds);
  return Math.min(longestSeconds, Math.max(shortestSeconds, seconds));
}

interface Told {
  readonly question: Question;
  readonly answer: Answered;
}

async function allowed(host: PersonHost, c: Context, signedIn: SignedIn, { question, answer }: Told) {
  const { client, call } = question;
  switch (answer.kind) {
    case "allowed": {
      host.events.administered("consent_granted");
      if (client && answer.code !== undefined) {
        const members = { code: answer.code, state: client.state };
        return c.redirect(redirectWith(client.redirectUri, host.issuer, members), 303);
      }
      const sentence = `${call?.agent ?? "The agent"} may continue now.`;
      return host.say(c, signedIn, "allow", "Allowed", sentence, `You can close this page. ${seeMine}`);
    }
    case "answered":
      return answered(host, c, signedIn);
    case "over":
      return linkOver(host, c, signedIn);
    case "changed":
      return showQuestion(host, c, signedIn, { scopes: answer.scopes, client, call }, true);
    default:
      return host.say(c, signedIn, "deny", "This cannot be allowed", answer.why, "Nothing was allowed.", 409);
  }
}

const seeMine = "What you allowed is under /me.";

const answered = (host: PersonHost, c: Context, signedIn: SignedIn): Promise<Response> => {
  const sentence = "This question has an answer already.";
  return host.say(c, signedIn, "deny", "Answered before", sentence, `Nothing changed. ${seeMine}`, 409);
};

async function refused(host: PersonHost, c: Context, signedIn: SignedIn, question: Question): Promise<Response> {
  if (!(await refuse(host, signedIn, question))) return answered(host, c, signedIn);
  host.events.administered("consent_refused");
  const { client } = question;
  if (client) return backToClient(host, c, client, { error: "access_denied", why: "the person refused" });
  return host.say(c, signedIn, "neutral", "Refused", "Nothing was allowed.", "You can close this page.");
}
