import { mutationsOf, testsOf } from "./mutation.ts";

const abuse = testsOf("apps/control-plane/test/sign-in-abuse.test.ts");
const cookies = testsOf("apps/control-plane/test/sign-in-cookies.test.ts");
const forms = testsOf("apps/control-plane/test/form-token.test.ts");
const logins = testsOf("apps/control-plane/test/person-login.test.ts");
const viewers = testsOf("apps/control-plane/test/console-people.test.ts");
const acts = testsOf("test/conformance/people/acts.test.ts");
const actRaces = testsOf("apps/control-plane/test/console-acts.test.ts");
const nextPaths = testsOf("apps/control-plane/test/next-path.test.ts");

export const ofPeople = mutationsOf("apps/control-plane/src", [
  [
    "login-unsigned",
    "identity-provider/person-login.ts",
    "client.enableNonRepudiationChecks,",
    "",
    logins("an ID token is refused > %s"),
  ],
  [
    "login-follows",
    "identity-provider/bounded-fetch.ts",
    'redirect: "manual"',
    'redirect: "follow"',
    logins("a faulty response of the provider is an outage > $path: $name"),
  ],
  [
    "attempt-of-any-age",
    "people/attempt.ts",
    "currentDate: new Date(nowMs),",
    "currentDate: new Date(0),",
    abuse("not after ten minutes"),
  ],
  [
    "attempt-of-any-browser",
    "people/sign-in.ts",
    '  if (attempt === undefined) return { kind: "other_browser" };',
    '  if (attempt === undefined) return { kind: "signed_in", next: "/console" };',
    abuse("not in another browser, which a stranger leads to a callback of their own (login CSRF)"),
  ],
  [
    "callback-used-twice",
    "people/sign-in.ts",
    "if ((await deps.signIns.find(signInId)) !== undefined) return refuseReplay(attempt, deps);",
    "",
    abuse("signs in no more, and ends the sign-in that came of it"),
  ],
  ["next-leads-away", "people/next-path.ts", "=== next && !", '!== "" && !', nextPaths("a sign-in never leads to %j")],
  [
    "ended-sign-in-opens",
    "postgres/sign-ins.ts",
    "and ended_at is null and expires_at >",
    "and expires_at >",
    viewers("signs out: the cookie opens nothing more, although the browser still has it"),
  ],
  [
    "sign-in-never-expires",
    "postgres/sign-ins.ts",
    "and ended_at is null and expires_at >",
    "and ended_at is null and begun_at <=",
    cookies("a sign-in is over after an hour, and where the settings name another provider"),
  ],
  [
    "foreign-form-taken",
    "people/signed-in.ts",
    "return isFromOwnPage(c) && presented.length",
    "return presented.length",
    forms("a form of %s is foreign, also with the token"),
  ],
  [
    "form-token-unchecked",
    "people/signed-in.ts",
    "&& timingSafeEqual(presented, own)",
    "",
    forms("a form %s is foreign"),
  ],
  [
    "console-without-role",
    "people/console-people.ts",
    '"admin" : roles[0];',
    '"admin" : "audit";',
    viewers("a person without a role sees which setting would give one, and no data"),
  ],
  [
    "view-shown-unrecorded",
    "people/console-people.ts",
    "    await signIns.recordView({",
    "    void signIns.recordView({",
    viewers("sees no page whose view could not be recorded"),
  ],
  [
    "auditor-acts",
    "people/console-people.ts",
    "acts: mayAct ? ",
    "acts: plane ? ",
    acts("acts to administrators, and none to auditors and to tokens"),
  ],
  [
    "act-of-an-ended-sign-in",
    "postgres/administrative-events.ts",
    "if (count === 0) throw new SignInOver();",
    "if (count < 0) throw new SignInOver();",
    actRaces("a sign-in that ends between the check and the commit acts no more"),
  ],
  [
    "act-of-a-foreign-form",
    "people/console-acts.ts",
    '      if (!pages.isOwnForm(c, signedIn, fields.get("form"))) return { kind: "foreign_form" };',
    "",
    acts("an administrator who signed in %s > %s is refused with %i, and nothing changes"),
  ],
  [
    "act-done-blindly",
    "people/console-acts.ts",
    '      if (!(await isAsShown(question))) return again("changed", question, typed);',
    "",
    acts("a new manifest between page and click is shown anew, and the agent stays"),
  ],
  [
    "act-done-twice",
    "people/console-acts.ts",
    "    if (!(await deps.consents.spend({",
    "    if (!(await Promise.resolve({",
    acts("a form that was sent does nothing a second time, also where the block was lifted since"),
  ],
]);
