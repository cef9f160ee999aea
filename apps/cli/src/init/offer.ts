import type { Access, Taint } from "@svc/core";
import type { ServerVariables } from "./server-variables.ts";

/** Why a tool is declared as it is. A guess is to be reviewed by a person. */
export interface Note {
  readonly text: string;
  readonly isGuess: boolean;
}

/** One tool, as the manifest declares it. */
export interface OfferedTool {
  readonly ref: string;
  readonly dataClass: string;
  readonly access: Access;
  readonly privileged: boolean;
  /** False where its calls are dangerous and cannot be privileged; else by default. */
  readonly acceptsTaint?: false;
  readonly resultTaint: Taint;
  readonly notes: readonly Note[];
}

/** One route of an HTTP upstream. */
export interface OfferedRoute {
  readonly methods: readonly string[];
  readonly path: string;
  readonly target: string;
  readonly dataClass: string;
}

/** What a source offers, and what it cannot be declared as. */
export interface Offer {
  readonly name: string;
  /** One line for people: what was read. */
  readonly read: string;
  readonly endpoint:
    | { readonly protocol: "http"; readonly url: string; readonly routes: readonly OfferedRoute[] }
    | { readonly protocol: "mcp"; readonly url: string }
    | { readonly protocol: "mcp"; readonly command: readonly string[]; readonly env: ServerVariables };
  readonly tools: readonly OfferedTool[];
  readonly leftOut: readonly { readonly name: string; readonly why: string }[];
}

export const reads = (source: string): string => `${source}.reads`;
export const writes = (source: string): string => `${source}.writes`;

export const guess = (text: string): Note => ({ text, isGuess: true });
export const fact = (text: string): Note => ({ text, isGuess: false });
