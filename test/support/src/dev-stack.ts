import { spawnApp } from "./app.ts";
import type { Child } from "./child.ts";
import { waitUntil } from "./wait-until.ts";

/** The line that `svc dev --json` prints once everything runs (docs/reference/settings.md#dev---json). */
export interface DevLine {
  readonly control_plane: string;
  readonly pep: string;
  readonly pep_admin: string;
  readonly example_mcp: string;
  readonly example_http: string;
  /** Null under `--no-provider`. */
  readonly openid_provider: string | null;
  readonly admin_token: string;
  readonly audit_token: string;
  readonly identity_token: string;
  readonly pep_config: string;
  readonly database_url: string;
}

export interface DevStack extends DevLine {
  readonly child: Child;
  stop(): Promise<void>;
}

/** Starts `svc dev --json` with further arguments, and waits for its line. */
export async function spawnDev(
  args: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<DevStack> {
  const child = spawnApp({ main: "@svc/dev/main", args: ["dev", "--json", ...args], env });
  try {
    await waitUntil("the stack to run", () => child.hasExited() || child.stdout().includes("\n"));
    const line: DevLine = JSON.parse(child.stdout().split("\n")[0] ?? "");
    return {
      ...line,
      child,
      stop: async () => {
        await child.stop();
      },
    };
  } catch (cause) {
    await child.stop();
    throw new Error(`svc dev did not start:\n${child.output()}`, { cause });
  }
}
