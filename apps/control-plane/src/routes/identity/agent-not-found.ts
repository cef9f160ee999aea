import { ApiError } from "../../http/api-error.ts";

export const agentNotFound = (): ApiError => new ApiError("agent_not_found", "There is no such agent.");
