// Live follow: fetches the page again and replaces the table where it has changed.

import { clockOf, localize } from "./times.js";

const intervalMs = 2000;
const box = document.querySelector("[data-follow]");
const status = document.querySelector("[data-follow-status]");

if (box && status) {
  box.hidden = false;
  box.nextElementSibling.hidden = false;
  box.addEventListener("change", () => {
    status.textContent = box.checked ? "Following." : "";
    if (box.checked) follow();
  });
}

const pause = () => new Promise((resolve) => setTimeout(resolve, intervalMs));

async function follow() {
  while (box.checked) {
    if (!document.hidden) await refresh().catch(stop);
    await pause();
  }
}

async function refresh() {
  const response = await fetch(location.href, { redirect: "error", headers: { Accept: "text/html" } });
  if (!response.ok) throw new Error(`the service returned ${response.status}`);
  const fresh = new DOMParser().parseFromString(await response.text(), "text/html").getElementById("live");
  const shown = document.getElementById("live");
  if (!fresh || !shown) return;
  localize(fresh);
  if (fresh.textContent === shown.textContent) return;
  const before = new Set(rowsOf(shown).map(keyOf));
  const added = rowsOf(fresh).filter((row) => !before.has(keyOf(row)));
  for (const row of added) row.classList.add("fresh");
  shown.replaceWith(document.importNode(fresh, true));
  status.textContent = `Following. ${added.length} new at ${clockOf(new Date())}.`;
}

const rowsOf = (table) => [...table.querySelectorAll("tbody tr")];
const keyOf = (row) => row.querySelector("td:last-child a")?.getAttribute("href");

/** An expired sign-in redirects, which is an error here, like an outage. */
function stop() {
  box.checked = false;
  status.textContent = "Stopped: the service does not respond, or the sign-in has expired. Reload the page.";
}
