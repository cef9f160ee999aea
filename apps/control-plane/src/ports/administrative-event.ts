import type { AdministrativeEvent } from "@svc/core";

type Concerns = "sessionId" | "agent" | "reason";

/** Absent members are null in the record. The actor is the label of the bearer, or the agent that acted. */
export type NewEvent = Omit<AdministrativeEvent, Concerns> & Partial<Pick<AdministrativeEvent, Concerns>>;
