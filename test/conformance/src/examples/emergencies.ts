import { generatePrivateJwk } from "@svc/tokens";
import type { Answer, Api } from "../api.ts";
import { startOne } from "../stack.ts";
import { admin, audit, type Examples, inTurn } from "./base.ts";

/** On its own issuer, whose key is configured. */
async function withConfiguredKey(call: (api: Api) => Promise<Answer>): Promise<Answer> {
  const { api, stop } = await startOne({ SVC_ISSUER_PRIVATE_KEY: JSON.stringify(await generatePrivateJwk()) });
  try {
    return await call(api);
  } finally {
    await stop();
  }
}

export const emergencies: Examples = {
  "PUT /v1/blocks/{kind}/{ref}": (api) =>
    inTurn(
      () => admin(api, "PUT", "/v1/blocks/tool/http:documented%2Fhostile", { reason: "hostile" }),
      () => admin(api, "PUT", "/v1/blocks/person/ada", { reason: "hostile" }),
    ),
  "DELETE /v1/blocks/{kind}/{ref}": (api) =>
    inTurn(() => admin(api, "DELETE", "/v1/blocks/tool/http:documented%2Fhostile")),
  "GET /v1/blocks": async (api) => {
    await admin(api, "PUT", "/v1/blocks/agent/documented-hostile", { reason: "hostile" });
    return inTurn(() => audit(api, "GET", "/v1/blocks"));
  },
  "GET /v1/keys": (api) => inTurn(() => admin(api, "GET", "/v1/keys")),
  "POST /v1/keys/rotate": (api) =>
    inTurn(
      () => admin(api, "POST", "/v1/keys/rotate", {}),
      () => withConfiguredKey((other) => admin(other, "POST", "/v1/keys/rotate", {})),
    ),
  "DELETE /v1/keys/{kid}": async (api) => {
    const { kid } = (await admin(api, "POST", "/v1/keys/rotate", {})).body;
    return inTurn(
      () => admin(api, "DELETE", `/v1/keys/${kid}`),
      () => withConfiguredKey((other) => admin(other, "DELETE", `/v1/keys/${kid}`)),
    );
  },
  "POST /v1/issuer-epoch": async () => {
    // On its own issuer, since it ends every session.
    const other = await startOne();
    try {
      return await inTurn(() => admin(other.api, "POST", "/v1/issuer-epoch", {}));
    } finally {
      await other.stop();
    }
  },
};
