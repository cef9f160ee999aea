import { html } from "hono/html";
import { href, type Markup } from "../markup.ts";
import type { Act } from "./act.ts";
import { offerWords } from "./words.ts";

/** Links to what the viewer may do; nothing for a viewer who only reads, and for acts that are left out. */
export type Offer = (...acts: readonly (Act | false | undefined)[]) => Markup | undefined;

export const actPath = "/console/act";

/** @param from the address of the page */
export const offerFrom =
  (from: string): Offer =>
  (...acts) => {
    const offered = acts.filter((act): act is Act => act !== false && act !== undefined);
    if (offered.length === 0) return undefined;
    return html`<p class="acts">${offered.map(
      (act) => html`<a class="button act" href="${href(actPath, { ...act, from })}">${offerWords(act)}</a> `,
    )}</p>`;
  };

export const noOffer: Offer = () => undefined;
