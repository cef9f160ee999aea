import { auth as secondAuth } from "@modelcontextprotocol/client";
import { auth as firstAuth } from "@modelcontextprotocol/sdk/client/auth.js";
import { MemoryProvider } from "./memory-provider.ts";

/** The login of each SDK, within a page of a browser. */
const logins = { "1.x": firstAuth, "2.x": secondAuth } as const;
export type Sdk = keyof typeof logins;

let provider: MemoryProvider;

const authorized = (sdk: Sdk, more: { serverUrl: string; authorizationCode?: string; iss?: string }) =>
  logins[sdk](provider as never, more);

const page = {
  /** Where the client sends its person. */
  async begin(sdk: Sdk, serverUrl: string, redirectUrl: string): Promise<string | undefined> {
    provider = new MemoryProvider(redirectUrl);
    await authorized(sdk, { serverUrl });
    return provider.asked?.href;
  },
  /** The tokens of the code, and those of a refresh. */
  async finish(sdk: Sdk, serverUrl: string, authorizationCode: string, iss: string) {
    await authorized(sdk, { serverUrl, authorizationCode, iss });
    const granted = provider.kept;
    await authorized(sdk, { serverUrl });
    return { granted, refreshed: provider.kept };
  },
};
export type InPage = typeof page;

Object.assign(globalThis, { page });
