import type { Exchange } from "../exchange.ts";
import { answers } from "./answers.ts";
import { authorities } from "./authorities.ts";
import { bearers } from "./bearers.ts";
import { bodies } from "./bodies.ts";
import { framing } from "./framing.ts";
import { headers } from "./headers.ts";
import { messages } from "./messages.ts";
import { paths } from "./paths.ts";

/** One subject of the corpus. */
export interface Group {
  readonly about: string;
  /** Path of its exchanges, from the folder above. */
  readonly file: string;
  readonly exchanges: readonly Exchange[];
}

export const corpus: readonly Group[] = [
  { about: "request framing", file: "corpus/framing.ts", exchanges: framing },
  { about: "the path of a call", file: "corpus/paths.ts", exchanges: paths },
  { about: "the authority and method of a call", file: "corpus/authorities.ts", exchanges: authorities },
  { about: "the caller's credentials", file: "corpus/bearers.ts", exchanges: bearers },
  { about: "an agent's headers", file: "corpus/headers.ts", exchanges: headers },
  { about: "the body of a privileged call", file: "corpus/bodies.ts", exchanges: bodies },
  { about: "the call of an MCP message", file: "corpus/messages.ts", exchanges: messages },
  { about: "an upstream's response", file: "corpus/answers.ts", exchanges: answers },
];
