// Shows times in the reader's zone, which are UTC without this script; a time's title keeps UTC.

const two = (number) => String(number).padStart(2, "0");
const dayOf = (date) => `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())}`;
export const clockOf = (date) => `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
const localText = (date) => `${dayOf(date)} ${clockOf(date)}`;

const units = [
  ["s", 1],
  ["min", 60],
  ["h", 3600],
  ["d", 86400],
];
const longestAgeDays = 30;

/** As "3 min ago" or "in 2 h"; undefined where the date says more. */
function ageText(date) {
  const seconds = Math.round((Date.now() - date.getTime()) / 1000);
  const distance = Math.abs(seconds);
  if (distance > longestAgeDays * 86400) return undefined;
  const [unit, length] = units.findLast(([, least]) => distance >= least) ?? units[0];
  const text = `${Math.floor(distance / length)} ${unit}`;
  return seconds < 0 ? `in ${text}` : `${text} ago`;
}

/** Rewrites every time below an element; again and again, since its attribute keeps the moment. */
export function localize(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    const date = new Date(element.dateTime);
    const age = "age" in element.dataset ? ageText(date) : undefined;
    element.textContent = age ?? localText(date);
    if (age !== undefined) element.title = `${localText(date)}, ${element.dateTime.slice(0, 19).replace("T", " ")} UTC`;
  }
}

const typed = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:\.\d+)?)?)?(Z?)$/;

/** The moment of a field's text; undefined where it is none. */
function momentOf(text, isUtc) {
  const [, year, month, day, hour = 0, minute = 0, second = 0, zone] = typed.exec(text.trim()) ?? [];
  if (year === undefined) return undefined;
  const parts = [year, month - 1, day, hour, minute, second];
  const date = isUtc || zone === "Z" ? new Date(Date.UTC(...parts)) : new Date(...parts);
  return Number.isNaN(date.getTime()) ? undefined : date;
}

/** A form's times are typed in the reader's zone, and sent in UTC. */
function localizeField(field) {
  const shown = momentOf(field.value, true);
  if (shown !== undefined) field.value = localText(shown).replace(/:00$/, "");
  const label = field.labels?.[0];
  if (label) label.textContent = label.textContent.replace(" (UTC)", "");
  field.form?.addEventListener("formdata", ({ formData }) => {
    const sent = momentOf(field.value, false);
    if (sent !== undefined) formData.set(field.name, sent.toISOString().replace(/\.000Z$/, "Z"));
  });
}

localize(document);
for (const field of document.querySelectorAll("input[data-time]")) localizeField(field);
const zone = document.querySelector("[data-zone]");
const { timeZone } = Intl.DateTimeFormat().resolvedOptions();
if (zone && timeZone !== "UTC") zone.textContent = `Times are those of ${timeZone}; point at one for UTC.`;
setInterval(() => localize(document), 30_000);
