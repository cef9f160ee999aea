import type { Config } from "../config.ts";
import { bad, type Finding, good, note } from "./finding.ts";
import { looksGuessable } from "./secret-strength.ts";

const drawOne = "Draw one at random: openssl rand -base64 32.";

export function* settingsFindings(config: Config): Generator<Finding> {
  yield config.dev
    ? bad("SVC_DEV is on: secrets are made up, and required settings may be absent", "Unset SVC_DEV.")
    : good("development mode is off");
  yield* secretFindings(secretsOf(config));
  yield* deciding(config);
  yield* exposure(config);
}

interface Secret {
  readonly setting: string;
  readonly text: string;
}

const secretsOf = ({ bearers, madeUpAdminToken, telemetryKey, keyEncryptionKey }: Config): readonly Secret[] =>
  [
    ...bearers.admin.map(({ token }) => ({ setting: "SVC_ADMIN_TOKEN", text: token })),
    ...bearers.audit.map(({ token }) => ({ setting: "SVC_AUDIT_TOKEN", text: token })),
    ...bearers.identity.map(({ token }) => ({ setting: "SVC_IDENTITY_TOKEN", text: token })),
    { setting: "SVC_TELEMETRY_KEY", text: telemetryKey ?? "" },
    { setting: "SVC_KEY_ENCRYPTION_KEY", text: Buffer.from(keyEncryptionKey ?? []).toString("base64") },
  ].filter(({ text }) => text !== "" && text !== madeUpAdminToken);

function* secretFindings(secrets: readonly Secret[]): Generator<Finding> {
  const guessable = settingsOf(secrets.filter(({ text }) => looksGuessable(text)));
  for (const setting of guessable) yield bad(`${setting} can be guessed: it is not random`, drawOne);
  const byText = Map.groupBy(secrets, ({ text }) => text);
  const shared = [...byText.values()].map(settingsOf).filter(({ length }) => length > 1);
  for (const settings of shared) {
    yield bad(`${settings.join(" and ")} hold the same secret`, "Give each a secret of its own.");
  }
  if (guessable.length === 0 && shared.length === 0) yield good("no secret looks guessable, none is used twice");
}

const settingsOf = (secrets: readonly Secret[]): readonly string[] => [...new Set(secrets.map((each) => each.setting))];

function* deciding({ identityRequired, mayObserve, discloseIdentities }: Config): Generator<Finding> {
  yield identityRequired
    ? good("every hop needs proof of an enrolled agent's key")
    : note("a token alone is enough for a hop", "Enroll the agents, then set SVC_IDENTITY_REQUIRED=true.");
  // No scope has this name, so only `*` admits it.
  yield mayObserve("\u0000")
    ? note("any scope may be observed without enforcement", "Set SVC_OBSERVE_SCOPES to those that are, or to none.")
    : good("only named scopes may be observed without enforcement");
  if (discloseIdentities) {
    yield note(
      "traces and logs name agents in plain text",
      "Unset SVC_TELEMETRY_DISCLOSE_IDENTITIES unless it is intended.",
    );
  }
}

function* exposure(config: Config): Generator<Finding> {
  if (config.issuer === undefined) {
    yield note("the issuer is the address it listens on", "Set SVC_ISSUER to the issuer that verifiers expect.");
  }
  if (config.databaseUrl === undefined) {
    yield note("the record is in an embedded database on this machine", "Set DATABASE_URL.");
  }
  if (config.redisUrl === undefined) {
    yield note("the replay guard is in one process, and is lost at its end", "Set REDIS_URL.");
  }
}
