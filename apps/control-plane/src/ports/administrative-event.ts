import type { AdministrativeEvent } from "@svc/core";

type Concerns = "sessionId" | "agent" | "reason";

/** Absent members are null in the record. The actor is the label of the bearer, the agent that acted, or a person. */
export type NewEvent = Omit<AdministrativeEvent, Concerns> &
  Partial<Pick<AdministrativeEvent, Concerns>> & { readonly onPage?: OnPage | undefined };

/** Who acts: the holder of a bearer, by its label, or a person, by the subject. */
export interface Actor {
  readonly by: string;
  /** Of a person on a page. */
  readonly onPage?: OnPage | undefined;
}

/** Where a person acts, and by which sign-in; the event has all three. */
export interface OnPage {
  /** The act commits while it runs, else it throws `SignInOver`. */
  readonly signInId: string;
  readonly issuer: string;
  /** The path of the page that led to the act. */
  readonly page: string;
}
