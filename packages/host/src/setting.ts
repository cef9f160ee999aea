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

interface Kind {
  secret?: boolean;
}

type Reader<T> = z.ZodType<T, string>;

/** A start without it fails. */
export const required = <T>(read: Reader<T>, doc: string, { secret = false }: Kind = {}): Setting<T> => ({
  read,
  presence: "required",
  doc,
  secret,
});

export const optional = <T>(read: Reader<T>, doc: string, { secret = false }: Kind = {}): Setting<T | undefined> => ({
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
