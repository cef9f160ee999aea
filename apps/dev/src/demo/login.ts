import type { OAuthClientProvider } from "@modelcontextprotocol/sdk/client/auth.js";
import type { OAuthTokens } from "@modelcontextprotocol/sdk/shared/auth.js";
import { developmentClient } from "../stack/logins.ts";

/** Nothing listens there: the scripted browser ends at this address, and the step reads the code from it. */
const redirectUrl = "http://127.0.0.1/callback";

/** What an application gives the SDK for a login: its client id, and where it keeps what it gets. */
export class MemoryLogin implements OAuthClientProvider {
  readonly redirectUrl = redirectUrl;
  readonly clientMetadata = { client_name: developmentClient.client_name, redirect_uris: [redirectUrl] };
  /** Where the client sends its person. */
  address: URL | undefined;
  #tokens: OAuthTokens | undefined;
  #verifier = "";

  clientInformation = () => ({ client_id: developmentClient.client_id });
  tokens = (): OAuthTokens | undefined => this.#tokens;
  saveTokens = (tokens: OAuthTokens): void => {
    this.#tokens = tokens;
  };
  invalidateCredentials = (): void => {
    this.#tokens = undefined;
  };
  redirectToAuthorization = (address: URL): void => {
    this.address = address;
  };
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  codeVerifier = (): string => this.#verifier;
}
