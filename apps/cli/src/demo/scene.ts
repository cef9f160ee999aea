import assert from "node:assert/strict";
import {
  type AuthorizeResponse,
  type ConsentResponse,
  type ExchangeResponse,
  jwtTokenType,
  tokenExchangeGrantType,
} from "@svc/core";
import type { Stack } from "../dev/stack.ts";
import { type Call, call, type Reply } from "../http.ts";

/** What the steps of the story share: the running stack, and who holds what. */
export interface Scene {
  readonly stack: Stack;
  /** Alice's consent; set by the step that asks her. */
  consent?: ConsentResponse;
  /** The planner's hop token. */
  plannerToken?: string;
  /** Actions to look up at the end. */
  readonly actions: { posted?: string };
}

export const newScene = (stack: Stack): Scene => ({ stack, actions: {} });

/** What an earlier step must have left. */
export function heldBy<Name extends "consent" | "plannerToken">(scene: Scene, name: Name): NonNullable<Scene[Name]> {
  const value = scene[name];
  assert(value !== undefined, `an earlier step left no ${name}`);
  return value;
}

export const controlPlane = <Body>(scene: Scene, path: string, options: Call): Promise<Reply<Body>> =>
  call(`${scene.stack.controlPlane}${path}`, options);

export interface Hop {
  readonly token: string;
  readonly target: string;
  readonly targetKind: "tool" | "agent";
  readonly dataClass: string;
}

export async function authorize(scene: Scene, hop: Hop): Promise<AuthorizeResponse> {
  const { status, body } = await controlPlane<AuthorizeResponse>(scene, "/v1/authorize", {
    bearer: hop.token,
    json: {
      session_id: heldBy(scene, "consent").session_id,
      target: hop.target,
      target_kind: hop.targetKind,
      data_class: hop.dataClass,
    },
  });
  assert.equal(status, 200, `authorize answered ${status}: ${JSON.stringify(body)}`);
  return body;
}

/** The exchange of RFC 8693, as any OAuth client would send it. */
export const exchange = (
  scene: Scene,
  hop: Hop,
  actionId: string,
): Promise<Reply<ExchangeResponse & { error?: string }>> =>
  controlPlane(scene, "/v1/token/exchange", {
    form: {
      grant_type: tokenExchangeGrantType,
      subject_token: hop.token,
      subject_token_type: jwtTokenType,
      resource: hop.target,
      scope: hop.dataClass,
      action_id: actionId,
    },
  });

/** A call of the planner through the enforcement point. */
export const guarded = <Body>(scene: Scene, path: string, options: Call = {}): Promise<Reply<Body>> =>
  call(`${scene.stack.pep}${path}`, {
    ...options,
    bearer: heldBy(scene, "plannerToken"),
    headers: { "x-svc-session": heldBy(scene, "consent").session_id },
  });
