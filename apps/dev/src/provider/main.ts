import { keepCompiled } from "@svc/host/compile-cache";
import { startProvider } from "./openid-provider.ts";

keepCompiled(import.meta.url);

/** The stack's provider as a program; `CALLBACK` is the control plane's redirect address. */
const { PORT, CALLBACK = "", CLIENT_ID = "" } = process.env;

await startProvider({
  port: Number(PORT),
  clients: [{ client_id: CLIENT_ID, redirect_uris: [CALLBACK], token_endpoint_auth_method: "none" }],
});
process.once("SIGTERM", () => process.exit(0));
