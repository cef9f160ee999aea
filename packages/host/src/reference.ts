import type { Setting, SettingsTable } from "./setting.ts";

/** What the settings references of READMEs and the chart are generated from. */
export const settingsReference = (table: SettingsTable) =>
  Object.entries(table).map(([name, setting]) => {
    const { doc, secret } = setting;
    return { name, default: defaultOf(setting), doc, secret };
  });

/** The default as one would write it, `required`, or `none`. */
const defaultOf = ({ presence, defaultText }: Setting<unknown>): string =>
  presence === "required" ? "required" : (defaultText ?? "none");

/** The reference as a Markdown table. */
export function settingsMarkdown(table: SettingsTable): string {
  const rows = settingsReference(table).map(({ name, default: text, doc, secret }) => {
    const shown = text === "required" || text === "none" ? text : `\`${text}\``;
    const spelling = secret ? `\`${name}\` or \`${name}_FILE\`` : `\`${name}\``;
    return `| ${spelling} | ${shown} | ${doc.replaceAll("|", "\\|")} |`;
  });
  return ["| setting | default | meaning |", "|---|---|---|", ...rows, ""].join("\n");
}
