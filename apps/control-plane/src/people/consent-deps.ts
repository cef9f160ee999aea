import type { AskPerson } from "../ports/ask-person.ts";
import type { Consents } from "../ports/consents.ts";
import type { IdentityAssertions } from "../ports/identity-provider.ts";
import type { OAuthClient, ReadClientDocument } from "../ports/oauth-clients.ts";
import type { PeopleDeps } from "./deps.ts";
import type { Questions } from "./questions.ts";

/** What the consent page and the authorization server use. */
export interface ConsentDeps extends PeopleDeps {
  readonly consents: Consents;
  readonly questions: Questions;
  readonly oauth: OAuthSettings;
  /** Tells the person, whose agent has no screen. It returns at once. Undefined where no webhook is configured. */
  readonly askPerson: AskPerson | undefined;
  /** Undefined where no provider is configured. */
  readonly identityAssertions: IdentityAssertions | undefined;
}

export interface OAuthSettings {
  /** By `client_id`. */
  readonly clients: ReadonlyMap<string, OAuthClient>;
  readonly readClientDocument: ReadClientDocument;
  /** A `resource` is one of them or lies below one. */
  readonly resources: readonly URL[];
}
