import { notTried } from "../fault.ts";
import { secretSetting } from "../secret-setting.ts";

/** The setting of the control plane's discovery: values of `Authorization` by origin. @throws {Fault} */
export function discoveryCredentials(): ReadonlyMap<string, string> {
  const text = secretSetting("SVC_DISCOVERY_CREDENTIALS");
  if (text === undefined) return new Map();
  const refused = notTried(
    "SVC_DISCOVERY_CREDENTIALS is no JSON object of origins and texts",
    'Write {"https://host": "Bearer ..."}.',
  );
  try {
    const byOrigin: unknown = JSON.parse(text);
    const entries = Object.entries(byOrigin ?? {});
    if (entries.some(([, value]) => typeof value !== "string")) throw refused;
    return new Map(entries as [string, string][]);
  } catch {
    throw refused;
  }
}
