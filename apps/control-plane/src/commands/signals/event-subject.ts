import { userSub } from "@svc/core";
import { z } from "zod";

/** RFC 9493 section 3.2.3, and section 3.2.4: an opaque identifier is `sub` at the provider. */
const issuerAndSubject = z.object({ format: z.literal("iss_sub"), iss: z.string(), sub: userSub });
const opaque = z.object({ format: z.literal("opaque"), id: userSub });
const simple = z.discriminatedUnion("format", [issuerAndSubject, opaque]);
/** Shared Signals Framework 1.0, "Complex Subject Members": of the person, other members name less. */
const complex = z.object({ format: z.literal("complex"), user: simple });
const personSubject = z.discriminatedUnion("format", [issuerAndSubject, opaque, complex]);

export type EventSubject =
  | { readonly kind: "person"; readonly sub: string }
  | { readonly kind: "unusable"; readonly description: string };

/** The person that `sub_id` names, by `sub` at the provider. People are known by nothing else here. */
export function personOfSubject(subject: unknown, issuer: string): EventSubject {
  const { data } = personSubject.safeParse(subject);
  if (data === undefined) return unusable("must be iss_sub, opaque, or complex with a user of these formats");
  const person = data.format === "complex" ? data.user : data;
  if (person.format === "opaque") return { kind: "person", sub: person.id };
  return person.iss === issuer
    ? { kind: "person", sub: person.sub }
    : unusable("iss must be the identity provider whose subjects people are here");
}

const unusable = (rule: string): EventSubject => ({ kind: "unusable", description: `sub_id: ${rule}` });
