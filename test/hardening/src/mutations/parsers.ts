import type { Mutation } from "./mutation.ts";
import { testsOf } from "./mutation.ts";

const requests = testsOf("test/fuzz/requests.test.ts");
const answers = testsOf("test/fuzz/answers.test.ts");

/** Mutations of parsers of untrusted text, noticed by fuzzing. */
export const ofReaders: readonly Mutation[] = [
  {
    name: "plus-is-plus",
    file: "apps/control-plane/src/http/query.ts",
    text: 'decodeURIComponent(part.replaceAll("+", " "))',
    replacement: "decodeURIComponent(part)",
    killedBy: requests("are read from a form as URLSearchParams reads them, each once, or are refused"),
  },
  {
    name: "control-characters-in-paths",
    file: "apps/control-plane/src/http/path.ts",
    text: "segment === undefined || controlCharacter.test(segment)",
    replacement: "segment === undefined",
    killedBy: requests(
      "a path of the control plane decodes to one reading of each segment, without dots and control characters, or is refused",
    ),
  },
  {
    name: "events-end-in-one-way",
    file: "apps/pep/src/protocols/mcp/event-filter.ts",
    text: "chunk[at] !== lineFeed && chunk[at] !== carriageReturn",
    replacement: "chunk[at] !== lineFeed",
    killedBy: answers("shows exactly the allowed tools, in any spelling and any chunks"),
  },
  {
    name: "any-text-of-a-source",
    file: "packages/core/src/reconcile.ts",
    text: "(toolRef.safeParse(ref).success ? [] : legible(ref))",
    replacement: "(toolRef.safeParse(ref).success ? [] : ref)",
    killedBy: testsOf("packages/core/test/reconcile.test.ts")("are shown as text that a report can hold: %s"),
  },
  {
    name: "odd-key-breaks-enrollment",
    file: "apps/control-plane/src/identity-provider/openid-provider.ts",
    text: "if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined;",
    replacement: "if (error instanceof errors.JWTExpired) return undefined;",
    killedBy: answers(
      "with a malformed response of an OpenID provider, a token names its own subject or none, or the provider counts as unavailable",
    ),
  },
  {
    name: "decision-on-another-target",
    file: "packages/hop/src/steps/decide.ts",
    text: "body.target === request.target &&",
    replacement: "",
    killedBy: answers("a malformed decision of the control plane allows the requested call or none"),
  },
];
