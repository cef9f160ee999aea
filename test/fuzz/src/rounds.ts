import type { Arrival } from "./recording-upstream.ts";

/**
 * The rounds so far, each in its own session. A call whose agent disconnected may reach its upstream after its round:
 * it is judged by the session of its own round.
 */
export interface Rounds {
  /** Begins one; its number is part of its cases' names. */
  begin(session: string): number;
  /** The round of a case; the latest for a request without name and session. */
  sessionOf(arrival: Arrival): string;
}

export const caseName = (round: number, at: number): string => `case-${round}-${at}`;

/** A case's name on the wire. */
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
