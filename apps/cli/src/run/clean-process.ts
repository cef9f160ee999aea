import { mkdtempSync, readFileSync, rmdirSync, unlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { everySettingName, pepEnvironment, pepSecretNames, readSettings } from "@svc/host";
import { notTried } from "../fault.ts";
import { secretSetting, setSecret } from "../secret-setting.ts";

/** What a run needs: it consents, revokes and lists, and its enforcement point has secrets of its own. */
const secretNames = ["SVC_ADMIN_TOKEN", "SVC_AUDIT_TOKEN", ...pepSecretNames] as const;

/** Names the file of secrets to the process's next image; no setting. */
const handoverVariable = "SVC_RUN_HANDOVER";

/**
 * Executes this command again, in the same process, without a secret in its environment; returns in the new image, with
 * the secrets known. Every process of the same user can read at `/proc/PID/environ` what an image was started with,
 * whatever it unsets later. The secrets pass in a file of mode 0600 that is removed before anything else starts.
 */
export function withoutSecretsInEnvironment(): void {
  const file = process.env[handoverVariable];
  if (file === undefined) handOver();
  else takeOver(file);
}

function handOver(): void {
  rejectMisspelt();
  const secrets = secretNames.map((name) => [name, secretSetting(name)] as const);
  const clean = pepEnvironment(process.env);
  for (const name of pepSecretNames) for (const given of [name, `${name}_FILE`]) delete clean[given];
  if (process.execve !== undefined) execute(process.execve, Object.fromEntries(secrets), clean);
  // On Windows an image cannot be replaced, and what is removed is gone for other processes too.
  for (const name of Object.keys(process.env)) if (!(name in clean)) delete process.env[name];
}

/** The enforcement point would name them, and does not get them. */
function rejectMisspelt(): void {
  const read = readSettings({}, process.env, { knownElsewhere: everySettingName });
  if (!read.ok) throw notTried(read.faults.join("\n"), "Correct these environment variables, or unset them.");
}

function execute(execve: NonNullable<typeof process.execve>, secrets: object, env: Record<string, string>): never {
  const file = join(mkdtempSync(join(tmpdir(), "svc-run-")), "secrets.json");
  try {
    writeFileSync(file, JSON.stringify(secrets), { mode: 0o600 });
    const args = [process.execPath, ...process.execArgv, ...process.argv.slice(1)];
    return execve(process.execPath, args, { ...env, [handoverVariable]: file });
  } catch (cause) {
    remove(file);
    throw notTried("svc cannot execute itself with a clean environment", "Check the folder of temporary files.", cause);
  }
}

function takeOver(file: string): void {
  delete process.env[handoverVariable];
  let text: string;
  try {
    text = readFileSync(file, "utf8");
  } catch (cause) {
    throw notTried(`${handoverVariable} is set by svc alone`, `Unset ${handoverVariable}.`, cause);
  }
  remove(file);
  const secrets: Record<string, string> = JSON.parse(text);
  for (const name of secretNames) setSecret(name, secrets[name]);
}

function remove(file: string): void {
  try {
    unlinkSync(file);
  } catch {
    // It was not written.
  }
  rmdirSync(dirname(file));
}
