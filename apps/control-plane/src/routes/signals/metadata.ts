import { pollDelivery, pushDelivery } from "@svc/core";
import { type App, jsonResponse } from "../../http/routes.ts";
import type { Deps } from "../deps.ts";

/** The address of an endpoint of shared signals. */
export const signalsAt = (issuer: string, path: string): string => `${issuer.replace(/\/$/, "")}/v1/signals${path}`;

/** OpenID Shared Signals Framework 1.0, "Transmitter Configuration Discovery"; the path of the issuer follows. */
export function signalMetadata(app: App, { issuer }: Deps): void {
  const metadata = {
    spec_version: "1_0",
    issuer,
    jwks_uri: `${issuer.replace(/\/$/, "")}/.well-known/jwks.json`,
    delivery_methods_supported: [pushDelivery, pollDelivery],
    configuration_endpoint: signalsAt(issuer, "/streams"),
    status_endpoint: signalsAt(issuer, "/status"),
    verification_endpoint: signalsAt(issuer, "/verification"),
    authorization_schemes: [{ spec_urn: "urn:ietf:rfc:6750" }],
    default_subjects: "ALL",
  };
  const { pathname } = new URL(issuer);
  for (const path of new Set(["", pathname.replace(/\/$/, "")])) {
    app.get(`/.well-known/ssf-configuration${path}`, () =>
      jsonResponse(metadata, 200, { "Cache-Control": "public, max-age=60" }),
    );
  }
}
