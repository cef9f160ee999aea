import { z } from "zod";
import { withDefault } from "../protocols/common-settings.ts";
import { defaultProtocol, upstreamEntry } from "../protocols/protocols.ts";

/** The file that `SVC_PEP_CONFIG` names (docs/reference/enforcement-point.md#upstreams-file). */
export const upstreamsFile = z.strictObject({
  upstreams: z.array(z.preprocess(withDefault("protocol", defaultProtocol), upstreamEntry)),
});

/** The members that `withDefault` fills in. */
const impliedConsts: Readonly<Record<string, unknown>> = { protocol: defaultProtocol, connect: false };

/** The JSON Schema of the file before defaults are filled in, for editors. It cannot state every rule. */
export const upstreamsSchema = (): object =>
  z.toJSONSchema(upstreamsFile, {
    io: "input",
    target: "draft-7",
    unrepresentable: "any",
    override({ jsonSchema }) {
      const { required, properties = {} } = jsonSchema;
      if (required === undefined) return;
      jsonSchema.required = required.filter((name) => {
        const member = properties[name];
        const isImplied = typeof member === "object" && name in impliedConsts && member.const === impliedConsts[name];
        return !isImplied;
      });
    },
  });
