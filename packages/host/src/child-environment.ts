import { controlPlaneSettingNames, pepSettingNames, sharedSettingNames } from "./app-settings.ts";
import type { Environment } from "./read-settings.ts";

/** Any program may have these for reasons of its own, and none is a secret. */
const common: readonly string[] = ["HOST", "PORT", "PROMETHEUS_MULTIPROC_DIR"];

/** Settings without a prefix: addresses of stores, and what the PostgreSQL driver takes where an address has no password. */
const unprefixed = new Set(
  [
    ...controlPlaneSettingNames.filter((name) => !name.startsWith("SVC_") && !common.includes(name)),
    "PGPASSWORD",
  ].flatMap((name) => [name, `${name}_FILE`]),
);

/**
 * The environment for a child that is no part of this project: without `SVC_*`, addresses of stores and their passwords.
 * @param keep names that the child needs all the same
 */
export const withoutSettings = (environment: Environment, keep: readonly string[] = []): Record<string, string> =>
  Object.fromEntries(
    Object.entries(environment).flatMap(([name, value]) =>
      value !== undefined && (keep.includes(name) || !isSetting(name)) ? [[name, value]] : [],
    ),
  );

const isSetting = (name: string): boolean => name.startsWith("SVC_") || unprefixed.has(name);

/** Secret settings of an enforcement point. Each may be given as a file, by the name and `_FILE`. */
export const pepSecretNames = ["SVC_TELEMETRY_KEY", "SVC_PEP_ENFORCEMENT_TOKEN"] as const;

const ofPep = [...pepSettingNames, ...sharedSettingNames, ...pepSecretNames.map((name) => `${name}_FILE`)];

/** The environment for an enforcement point: its own settings alone. */
export const pepEnvironment = (environment: Environment): Record<string, string> => withoutSettings(environment, ofPep);
