import { eventTypes } from "@svc/core";
import type { OpenIdProvider } from "@svc/test-support/openid-provider";
import type { JWTPayload } from "jose";
import type { Answer, TestApp } from "./support.ts";

export const signalsToken = "provider-signals-token-0123456789abcdef";
export const audience = "https://plane.test/signals";
export const signalsSettings = { SVC_SIGNALS_AUDIENCE: audience, SVC_SIGNALS_TOKEN: signalsToken };

export const nowSeconds = () => Math.floor(Date.now() / 1_000);

/** Claims of a security event token of the provider: by default Ada's account was disabled. */
export const eventClaims = (
  { issuer }: Pick<OpenIdProvider, "issuer">,
  { type = eventTypes.accountDisabled, event = {}, sub = "ada", ...changes }: EventChanges = {},
): JWTPayload => ({
  iss: issuer,
  aud: audience,
  iat: nowSeconds(),
  jti: crypto.randomUUID(),
  sub_id: { format: "iss_sub", iss: issuer, sub },
  events: { [type]: event },
  ...changes,
});

export interface EventChanges {
  readonly type?: string;
  readonly event?: object;
  /** Of `sub_id`. */
  readonly sub?: string;
  readonly [claim: string]: unknown;
}

export const signedEvent = (provider: OpenIdProvider, changes: EventChanges = {}): Promise<string> =>
  provider.sign("secevent+jwt", JSON.parse(JSON.stringify(eventClaims(provider, changes))));

/** As RFC 8935 delivers a token. */
export const deliver = (
  app: TestApp,
  body: string,
  { token = signalsToken, type = "application/secevent+jwt" } = {},
): Promise<Answer> => app.send("/v1/signals/events", { token, body, headers: { "content-type": type } });
