import { html } from "hono/html";
import { type Markup, notice, type Tone } from "../markup.ts";
import type { PersonView } from "./layout.ts";

/** One sentence that says what happened, and what the person may do now. */
export const messageView = (
  tone: Tone,
  title: string,
  sentence: string,
  next: string | Markup,
  status: PersonView["status"] = 200,
): PersonView => ({ title, status, body: notice(tone, sentence, html`<p>${next}</p>`) });
