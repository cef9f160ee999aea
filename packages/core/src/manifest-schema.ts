import { z } from "zod";
import { manifestCreate } from "./wire/admin.ts";

/** The JSON Schema of a manifest file before defaults are filled in, for editors. It cannot state every rule. */
export const manifestSchema = (): object =>
  z.toJSONSchema(manifestCreate, { io: "input", target: "draft-7", unrepresentable: "any", reused: "inline" });
