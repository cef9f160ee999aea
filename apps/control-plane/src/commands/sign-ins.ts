import type { SignIn, SignInChoice, SignIns } from "../ports/sign-ins.ts";
import type { CommandDeps } from "./deps.ts";
import { isUuid } from "./identifier.ts";

interface EndDeps extends Pick<CommandDeps, "clock" | "ids"> {
  readonly signIns: SignIns;
}

interface EndedBy {
  readonly by: string;
  readonly reason: string | null;
}

/** Ends the running sign-ins of a choice, at once in every process, and returns how many. */
export const endSignIns = ({ clock, ids, signIns }: EndDeps, which: SignInChoice, { by, reason }: EndedBy) => {
  const atMs = clock.nowMs();
  return signIns.end(which, {
    by,
    atMs,
    eventOf: ({ signInId, issuer, subject }) => ({
      eventId: ids.next(),
      kind: "sign_in_ended",
      atMs,
      actor: by,
      reason,
      details: { sign_in_id: signInId, user_sub: subject, issuer },
    }),
  });
};

/** Ends one; undefined if there is none. One that is over stays as it is. */
export async function endSignIn(
  deps: EndDeps,
  signInId: string,
  by: EndedBy,
): Promise<{ readonly signIn: SignIn; readonly ended: boolean } | undefined> {
  if (!isUuid(signInId)) return undefined;
  const ended = await endSignIns(deps, { signInId }, by);
  const signIn = await deps.signIns.find(signInId);
  return signIn && { signIn, ended: ended > 0 };
}
