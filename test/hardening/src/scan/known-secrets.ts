export interface Finding {
  /** Path and line, in history after the object's name. */
  readonly place: string;
  readonly what: string;
  /** SHA-256 of the finding, which is repeated nowhere. */
  readonly digest: string;
}

interface Known {
  readonly digest: string;
  readonly why: string;
}

/** Harmless look-alikes of credentials, by content and not by path, so that the next one at a path is found. */
export const known: readonly Known[] = [
  {
    digest: "d7706bd4fc88fc0bea861e2f7f329f6e965458c680741291e3feb98956fc9f3a",
    why: "the password of a database that does not exist: a test checks that no message repeats it",
  },
  {
    digest: "3708d728263c939883b4ab14b36d168b8fc627da32b2aff65d2bad018ac5b238",
    why: "the client's key of the enforcement point's TLS tests, under their own authority",
  },
  {
    digest: "e8cd6c1479c32441e872e6fc8d60a8eb670b2aacaeeed8c0115a6d7897bda891",
    why: "the server's key of the same tests",
  },
  {
    digest: "66591941ea4b1ae0b951cc55de9af7b3d77035c8866ee5e2a153c7f11e891b84",
    why: "the credentials of a URL to no host, which a test sees refused and not repeated",
  },
];

export const isKnown = ({ digest }: Pick<Finding, "digest">): boolean => known.some((each) => each.digest === digest);
