import type { SharedSettingName } from "./app-settings.ts";
import { defaulted, optional, type Setting, type SettingValues } from "./setting.ts";
import { flag, oneOf, text } from "./values.ts";

export const logLevels = ["debug", "info", "warn", "error"] as const;

/** Settings that every app reads alike. */
export const sharedSettings = {
  SVC_DEV: defaulted(flag, "false", "Development: what production must be given is made up, with a warning."),
  SVC_LOG_LEVEL: defaulted(oneOf(logLevels), "info", "The least severe log level that is written."),
  SVC_TELEMETRY_KEY: optional(text, "Key of the pseudonyms in traces and logs; required outside `SVC_DEV`.", {
    secret: true,
  }),
  SVC_TELEMETRY_DISCLOSE_IDENTITIES: defaulted(
    flag,
    "false",
    "Puts agent names and act chains into traces and logs instead of their pseudonyms.",
  ),
} satisfies Record<SharedSettingName, Setting<unknown>>;

/** Outside development the pseudonym key must be set: a generated one would change at every restart. */
export const telemetryKeyRule = (values: Partial<SettingValues<typeof sharedSettings>>): string | undefined =>
  values.SVC_DEV === false && "SVC_TELEMETRY_KEY" in values && values.SVC_TELEMETRY_KEY === undefined
    ? "SVC_TELEMETRY_KEY: is required unless SVC_DEV is true"
    : undefined;
