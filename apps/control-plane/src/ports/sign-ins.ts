import type { NewEvent } from "./administrative-event.ts";
import type { Paged } from "./audit-reads.ts";
import type { Person } from "./person-login.ts";

/** A person's sign-in, in one browser. */
export interface SignIn extends Omit<Person, "kind"> {
  /** A UUIDv7. */
  readonly signInId: string;
  readonly begunAtMs: number;
  readonly expiresAtMs: number;
  readonly endedAtMs: number | null;
  /** The label of a bearer, or the subject. */
  readonly endedBy: string | null;
}

export interface NewSignIn extends Omit<SignIn, "endedAtMs" | "endedBy"> {
  /** SHA-256 of the cookie's value. */
  readonly cookieHash: Uint8Array;
}

/** A subject of any provider, or of one. */
export type SignInChoice =
  | { readonly signInId: string }
  | { readonly subject: string; readonly issuer?: string | undefined };

export interface EndOfSignIns {
  readonly by: string;
  readonly atMs: number;
  /** The event of one that ends. */
  readonly eventOf: (ended: Pick<SignIn, "signInId" | "issuer" | "subject">) => NewEvent;
}

/** The person who acts is not signed in any more: nothing changed. */
export class SignInOver extends Error {}

/** Every change commits its event with it; durable when it resolves. */
export interface SignIns {
  /** False if a sign-in of this id was begun before; then nothing is stored. */
  begin(signIn: NewSignIn, event: NewEvent): Promise<boolean>;
  /** The sign-in of a cookie; undefined unless it runs at `nowMs`. */
  running(cookieHash: Uint8Array, nowMs: number): Promise<SignIn | undefined>;
  find(signInId: string): Promise<SignIn | undefined>;
  /** Newest first; `after` is the id of the row before. */
  page(query: Paged<string> & { readonly subject: string | undefined }): Promise<readonly SignIn[]>;
  /** Ends those that run at `atMs`; how many. */
  end(which: SignInChoice, end: EndOfSignIns): Promise<number>;
  recordView(event: NewEvent): Promise<void>;
}
