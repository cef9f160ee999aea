import {
  AdmissionRefused,
  type AdmitRequest,
  createVerifier,
  type RefusalCause,
  type VerifierOptions,
} from "../../src/index.ts";
import { dataClass, issuer, jwks, target } from "./tokens.ts";

export const verifierOf = (options: Partial<VerifierOptions> = {}) =>
  createVerifier({ issuer, audience: target, jwks, identityView: "off", ...options });

const verifier = verifierOf();

export const admit = (request: Partial<AdmitRequest> & Pick<AdmitRequest, "headers">, by = verifier) =>
  by.admit({ dataClass, ...request });

/** How an admission ended, in one word. */
export const causeOf = (admission: Promise<unknown>): Promise<RefusalCause | "admitted"> =>
  admission.then(
    () => "admitted" as const,
    (error) => {
      if (!(error instanceof AdmissionRefused)) throw error;
      return error.cause;
    },
  );
