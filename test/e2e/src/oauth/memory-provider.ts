interface Tokens {
  access_token: string;
  token_type: string;
  refresh_token?: string | undefined;
}

/** What an application gives the SDKs for a login: the client's name, and where it keeps what it gets. */
export class MemoryProvider {
  readonly redirectUrl: string;
  readonly clientMetadata: { readonly client_name: string; readonly redirect_uris: string[] };
  /** Where the client sent its person. */
  asked: URL | undefined;
  /** How often it did. */
  logins = 0;
  kept: Tokens | undefined;
  #verifier = "";
  #discovered: unknown;

  constructor(redirectUrl: string) {
    this.redirectUrl = redirectUrl;
    this.clientMetadata = { client_name: "Notebook", redirect_uris: [redirectUrl] };
  }

  clientInformation = () => ({ client_id: "notebook" });
  tokens = () => this.kept;
  saveTokens = (tokens: Tokens): void => {
    this.kept = tokens;
  };
  invalidateCredentials = (what: string): void => {
    if (what === "all" || what === "tokens") this.kept = undefined;
  };
  redirectToAuthorization = (url: URL): void => {
    this.asked = url;
    this.logins += 1;
  };
  saveCodeVerifier = (verifier: string): void => {
    this.#verifier = verifier;
  };
  codeVerifier = () => this.#verifier;
  saveDiscoveryState = (discovered: unknown): void => {
    this.#discovered = discovered;
  };
  discoveryState = () => this.#discovered;
}
