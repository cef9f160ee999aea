/** A client of the authorization server. All are public, but for those whose secret the settings give. */
export interface OAuthClient {
  /** The address of its metadata document, or a name of the settings. */
  readonly clientId: string;
  readonly name: string;
  /** Compared as they are; of a loopback one the port may differ (RFC 8252 section 7.3). */
  readonly redirectUris: readonly string[];
  /** SHA-256. */
  readonly secretHash?: Buffer | undefined;
  /** Asked for where a request names no scope (RFC 7591 section 2); space-separated. */
  readonly scope?: string | undefined;
  /** The agent that acts for the person; by default the scope's entry agent. */
  readonly agent?: string | undefined;
}

/** Why a client's document cannot be used, as a sentence for the person who sees the page. */
export class ClientUnusable extends Error {}

/** Reads a client id metadata document. @throws {ClientUnusable} */
export type ReadClientDocument = (clientId: string) => Promise<OAuthClient>;
