export interface ScriptedResponse {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  readonly delayMs?: number;
  /** In place of a response. */
  readonly isReset?: boolean;
}

/** A control plane's responses by path, also such as no real one gives. */
export type Script = Readonly<Record<string, ScriptedResponse>>;

export const scriptedUrl = "http://control-plane.test";
export const scriptVariable = "TEST_SCRIPTED_RESPONSES";

/** The environment of a command that gets its responses from a script. */
export const scripted = (script: Script): Readonly<Record<string, string>> => ({
  SVC_CONTROL_PLANE_URL: scriptedUrl,
  SVC_ADMIN_TOKEN: "an-admin-token-0123456789abcdef0123",
  NODE_OPTIONS: `--import=${new URL("scripted-peer.ts", import.meta.url).href}`,
  [scriptVariable]: JSON.stringify(script),
});
