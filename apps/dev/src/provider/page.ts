import { people } from "./people.ts";

/** Says on every page what this provider is. */
const mark = "Development provider: it asks for no password. Use it only to try this service on your own machine.";

const style = `
  :root { color-scheme: light dark; font: 1rem/1.5 system-ui, sans-serif; }
  body { max-width: 34rem; margin: 2rem auto; padding: 0 1rem; }
  .mark { border: 2px solid #b45309; border-radius: .5rem; padding: .5rem .75rem; font-weight: 600; }
  form { margin: 1rem 0; } button, input { font: inherit; padding: .4rem .75rem; } small { display: block; }
`;

const page = (title: string, body: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>${title} (development provider)</title><style>${style}</style></head>
<body><p class="mark">${mark}</p><h1>${title}</h1>${body}</body>
</html>`;

/** Its forms lead on: a button for each person, a field for any other login, and the way back. */
export const choicePage = (): string =>
  page(
    "Who are you?",
    `${Object.entries(people).map(personForm).join("\n")}
<form method="post"><label>Another login <input name="login" required autocomplete="off"></label> <button>Continue</button></form>
<form method="post"><button name="cancel" value="yes">Cancel</button></form>`,
  );

const personForm = ([login, { name, groups }]: [string, { name: string; groups: readonly string[] }]): string =>
  `<form method="post"><button name="login" value="${login}">Continue as ${name}</button><small>login ${login}, groups: ${groups.join(", ")}</small></form>`;

export const startPage = (): string =>
  page(
    "A provider of sign-ins",
    "<p>There is nothing to do here. Sign in at the service, which leads here and back.</p>",
  );

export const errorPage = (error: string, description = ""): string =>
  page(
    "This sign-in cannot continue",
    `<p>${escaped(error)} ${escaped(description)}</p><p>Begin again at the page that led here.</p>`,
  );

const entities: Readonly<Record<string, string>> = { "&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;" };
const escaped = (text: string): string => text.replaceAll(/[&<>"]/g, (character) => entities[character] ?? "");
