import type { Arrival } from "./observed.ts";

/**
 * The rounds so far, each in a session of its own. A call whose agent went away may reach its upstream when its round is
 * over: it is held to the session of the round it was made in.
 */
export interface Rounds {
  /** Begins one; its number goes into the names of its cases. */
  begin(session: string): number;
  /** Of the round whose case this is; of the latest where it lost both its name and its session. */
  sessionOf(arrival: Arrival): string;
}

export const caseName = (round: number, at: number): string => `case-${round}-${at}`;

/** What a case is called on the wire. */
export const caseOf = (arrival: Arrival): string | undefined => headerIn(arrival, "x-case");

export function createRounds(): Rounds {
  const sessions: string[] = [];
  return {
    begin: (session) => sessions.push(session) - 1,
    sessionOf(arrival) {
      const [, round] = /^case-(\d+)-\d+$/.exec(caseOf(arrival) ?? "") ?? [];
      const shown = headerIn(arrival, "x-svc-session") ?? "";
      return sessions[Number(round)] ?? sessions.find((session) => session === shown) ?? sessions.at(-1) ?? "";
    },
  };
}

const headerIn = ({ rawHeaders }: Arrival, wanted: string): string | undefined => {
  const at = rawHeaders.findIndex((name, index) => index % 2 === 0 && name.toLowerCase() === wanted);
  return at === -1 ? undefined : rawHeaders[at + 1];
};
