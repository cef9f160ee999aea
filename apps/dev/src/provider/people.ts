interface ProviderPerson {
  readonly name: string;
  readonly email: string;
  readonly groups: readonly string[];
}

/** People of the provider, by `sub`. Any other login is a person without name and groups. */
export const people: Readonly<Record<string, ProviderPerson>> = {
  ada: { name: "Ada Lovelace", email: "ada@people.test", groups: ["platform"] },
  ben: { name: "Ben Bitdiddle", email: "ben@people.test", groups: ["support"] },
};
