import { userSub } from "@svc/core";

/** A claim for people to read; null where it is no plain text of at most 255 characters. */
export const personText = (claim: unknown): string | null => userSub.safeParse(claim).data ?? null;

/** The texts of a claim: one, or a list. `name`: the claim's, or a path of members as `realm_access.roles`. */
export function claimTexts(claims: object, name: string): readonly string[] {
  const claim = memberOf(claims, name) ?? name.split(".").reduce<unknown>(memberOf, claims);
  return [claim].flat().filter((text) => typeof text === "string");
}

const memberOf = (parent: unknown, name: string): unknown =>
  typeof parent === "object" && parent !== null && Object.hasOwn(parent, name)
    ? (parent as Readonly<Record<string, unknown>>)[name]
    : undefined;
