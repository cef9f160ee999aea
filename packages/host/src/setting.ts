import type { z } from "zod";

/** What a setting's text becomes. A default is given as a user would write it, and read like any other text. */
export interface Setting<T> {
  readonly read: z.ZodType<unknown, string>;
  readonly presence: "required" | "optional" | "defaulted";
  readonly defaultText?: string;
  /** One sentence for the settings reference. */
  readonly doc: string;
  /** May be given as `<NAME>_FILE`, and its text is never shown. */
  readonly secret: boolean;
  /** Holds the type alone. */
  readonly value?: T;
}

type Reader<T> = z.ZodType<T, string>;

/** A start without it fails. */
export const required = <T>(read: Reader<T>, doc: string, { secret = false } = {}): Setting<T> => ({
  read,
  presence: "required",
  doc,
  secret,
});

export const optional = <T>(read: Reader<T>, doc: string, { secret = false } = {}): Setting<T | undefined> => ({
  read,
  presence: "optional",
  doc,
  secret,
});

export const defaulted = <T>(read: Reader<T>, defaultText: string, doc: string): Setting<T> => ({
  read,
  presence: "defaulted",
  defaultText,
  doc,
  secret: false,
});

export type SettingsTable = Readonly<Record<string, Setting<unknown>>>;

/** Setting name to its value. */
export type SettingValues<Table extends SettingsTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Setting<infer T> ? T : never;
};

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
