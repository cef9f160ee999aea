import { mutationsOf, testsOf } from "./mutation.ts";

const abuse = testsOf("test/conformance/people/abuse.test.ts");
const asks = testsOf("test/conformance/people/asks.test.ts");
const taint = testsOf("test/conformance/people/taint.test.ts");
const matching = testsOf("apps/control-plane/test/oauth-matching.test.ts");
const documents = testsOf("apps/control-plane/test/client-document.test.ts");
const pages = testsOf("test/conformance/people/client-in-page.test.ts");

/** Consent pages, and the authorization server for clients. */
export const ofClients = mutationsOf("apps/control-plane/src", [
  [
    "code-used-twice",
    "people/token-endpoint.ts",
    'if (grant.isSpent) return spentTwice(deps, grant, "its code was used twice", badCode);',
    "if (grant.isSpent) return badCode;",
    abuse("what is used twice ends what came of it > a code"),
  ],
  [
    "pkce-unchecked",
    "people/token-endpoint.ts",
    "if (!isProven || (",
    "if ((",
    abuse("a stolen code is of no use > %s"),
  ],
  [
    "foreign-resource-redeemed",
    "people/handle-routes.ts",
    "grant?.resource === resource ?",
    "grant !== undefined ?",
    abuse("an access token is good at its resource alone"),
  ],
  [
    "link-for-another-person",
    "people/questions-shown.ts",
    "if (link.userSub !== signedIn.subject) {",
    "if (link.userSub === undefined) {",
    asks("a link that was forwarded is of no use to others"),
  ],
  [
    "question-of-another-sign-in",
    "people/answer-page.ts",
    "if (question === undefined || question.signInId !== signedIn.signInId) {",
    "if (question === undefined) {",
    abuse("a question is answered by the sign-in that it was shown to, once, and as it was shown"),
  ],
  [
    "mark-of-one-session-alone",
    "postgres/marks.ts",
    "  await markFamily(tx, action, marks);",
    "",
    taint("what is read after the consent counts in the session beside, in every process at once"),
  ],
  [
    "begins-without-marks",
    "postgres/consents.ts",
    "    await inheritMarks(tx, facts.sessionId);",
    "",
    taint("what was read before the consent counts in the session that it begins"),
  ],
  [
    "redirect-by-its-beginning",
    "people/clients.ts",
    "withoutLoopbackPort(registered) === withoutLoopbackPort(redirectUri)",
    "withoutLoopbackPort(redirectUri).startsWith(withoutLoopbackPort(registered))",
    matching("a redirect address > is not registered by %s"),
  ],
  [
    "resource-by-its-beginning",
    "people/authorize-request.ts",
    "{base}/`)",
    "{base}`)",
    matching("a resource is guarded > %s"),
  ],
  [
    "document-of-another-client",
    "discovery/client-document.ts",
    "if (document.client_id !== clientId) throw",
    "if (document.client_id === undefined) throw",
    documents("a document %s is refused, and read again the next time"),
  ],
  [
    "every-route-for-pages",
    "people/token-endpoint.ts",
    'app.use(path, readableFromPages("POST"))',
    'app.use("*", readableFromPages("POST"))',
    pages("no page of another origin reads %s"),
  ],
]);
