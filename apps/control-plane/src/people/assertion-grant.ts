import { sha256Base64url } from "@svc/tokens";
import { type AskedScope, askedOfAll } from "./asked.ts";
import { isGuarded, scopesIn } from "./authorize-request.ts";
import type { ConsentDeps } from "./consent-deps.ts";
import { type Granted, refusedGrant, spentTwice, type TokenRequest } from "./granted.ts";
import { planSessions } from "./plan-sessions.ts";
import { sha256 } from "./secrets.ts";

const badAssertion = refusedGrant(
  "invalid_grant",
  "the assertion is not an identity assertion of the configured provider for this server and client, or it is over",
);

/**
 * RFC 7523 section 2.1 with an identity assertion of the provider (draft-ietf-oauth-identity-assertion-authz-grant): the
 * organisation consented in its provider, so no page asks. Each assertion is good once.
 */
export async function grantByAssertion(deps: ConsentDeps, { client, field }: TokenRequest): Promise<Granted> {
  const assertion = field("assertion");
  if (assertion === undefined) return refusedGrant("invalid_request", "assertion is missing");
  const asserted = await deps.identityAssertions?.verify(assertion, deps.issuer);
  if (asserted?.clientId !== client.clientId) return badAssertion;
  const begunWith = sha256(`${asserted.issuer} ${asserted.jti}`);
  const before = await deps.consents.grantOf({ begunWith });
  if (before !== undefined) return spentTwice(deps, before, "its assertion was used twice", badAssertion);
  const resource = asserted.resource ?? field("resource");
  if (resource === undefined || (field("resource") ?? resource) !== resource || !isGuarded(deps.oauth, resource)) {
    return refusedGrant("invalid_target", "resource must be the assertion's, and one that this server guards");
  }
  const scopes = scopesIn(field("scope") ?? asserted.scope);
  const isWithin = scopes?.every((scope) => asserted.scope === undefined || scopesIn(asserted.scope)?.includes(scope));
  if (scopes === undefined || !isWithin) {
    return refusedGrant("invalid_scope", "scope must name consentable scopes, no more than the assertion's");
  }
  const asking = await askedOfAll(deps, scopes, { agent: client.agent, userSub: asserted.subject });
  if (asking.kind === "refused") return refusedGrant("invalid_scope", "a scope cannot be consented to now");
  const begun = await begin(deps, asking.asked, { ...asserted, resource, assertion, begunWith });
  const grant = await deps.consents.grantOf({ begunWith });
  if (grant === undefined) return badAssertion;
  return begun
    ? { kind: "granted", grant, issuedFor: begunWith }
    : spentTwice(deps, grant, "its assertion was used twice", badAssertion);
}

interface Assertion {
  readonly issuer: string;
  readonly subject: string;
  readonly clientId: string;
  readonly resource: string;
  readonly assertion: string;
  readonly begunWith: Buffer;
}

/** False where the same assertion began a grant meanwhile, or the policy changed. */
async function begin(deps: ConsentDeps, asked: readonly AskedScope[], by: Assertion): Promise<boolean> {
  const sessions = await planSessions(deps, asked, {
    userSub: by.subject,
    consentedBy: by.issuer,
    details: { client_id: by.clientId, resource: by.resource, assertion_sha256: sha256Base64url(by.assertion) },
  });
  if (sessions === undefined) return false;
  const { clientId, resource, begunWith } = by;
  const scopes = asked.map(({ scope }) => scope);
  const grant = {
    grantId: deps.ids.next(),
    agent: asked[0]?.agent ?? "",
    clientId,
    resource,
    scopes,
    begunWith,
    code: null,
  };
  return (await deps.consents.allow({ answer: null, sessions, grant })) === "allowed";
}
