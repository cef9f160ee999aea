import { z } from "zod";
import { errorCodes, oauthErrorCodes } from "../error-code.ts";
import { timestamp } from "./parts.ts";

/** Errors, and answers of the routes that need no bearer: health, documents and the issuer's metadata. */

/** Metrics in the Prometheus text format, and the page of the documentation. */
export const plainText = z.string();

export const openApiRead = z.record(z.string(), z.unknown());

export const livenessRead = z.object({ status: z.literal("ok") });

export const readinessRead = z.object({
  ...livenessRead.shape,
  housekeeping: z.object({ last_run: timestamp.nullable() }),
  sealing: z.object({ oldest_unsealed: timestamp.nullable() }),
});

export const keySet = z
  .object({ keys: z.array(z.record(z.string(), z.unknown())) })
  .meta({ id: "JsonWebKeySet", description: "RFC 7517." });

export const serverMetadata = z
  .object({
    issuer: z.string(),
    token_endpoint: z.string(),
    jwks_uri: z.string(),
    grant_types_supported: z.array(z.string()),
    response_types_supported: z.array(z.string()),
    token_endpoint_auth_methods_supported: z.array(z.string()),
    service_documentation: z.string(),
    authorization_endpoint: z.string().optional(),
    revocation_endpoint: z.string().optional(),
    revocation_endpoint_auth_methods_supported: z.array(z.string()).optional(),
    response_modes_supported: z.array(z.string()).optional(),
    code_challenge_methods_supported: z.array(z.string()).optional(),
    /** RFC 9207 section 3. */
    authorization_response_iss_parameter_supported: z.boolean().optional(),
    /** draft-ietf-oauth-client-id-metadata-document section 5. */
    client_id_metadata_document_supported: z.boolean().optional(),
    /** An extension (RFC 8414 section 2): docs/reference/routes.md#hops. */
    svc_hops_endpoint: z.string().optional(),
  })
  .meta({ id: "AuthorizationServerMetadata", description: "RFC 8414 section 2." });

export const errorEnvelope = z
  .object({
    error: z.object({ code: z.enum(errorCodes), message: z.string() }),
    details: z.record(z.string(), z.unknown()).optional(),
  })
  .meta({ id: "ErrorEnvelope" });
export type ErrorEnvelope = z.output<typeof errorEnvelope>;

/** RFC 6749 section 5.2, which admits further members: `action_id` names the recorded deny. */
export const oauthError = z.object({
  error: z.enum(oauthErrorCodes),
  error_description: z.string(),
  action_id: z.string().optional(),
});
