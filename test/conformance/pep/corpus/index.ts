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
  { about: "how a request is framed", file: "corpus/framing.ts", exchanges: framing },
  { about: "which path is called", file: "corpus/paths.ts", exchanges: paths },
  { about: "which authority is called, and by which method", file: "corpus/authorities.ts", exchanges: authorities },
  { about: "who calls", file: "corpus/bearers.ts", exchanges: bearers },
  { about: "what an agent may say", file: "corpus/headers.ts", exchanges: headers },
  { about: "what is bound", file: "corpus/bodies.ts", exchanges: bodies },
  { about: "what an MCP message calls", file: "corpus/messages.ts", exchanges: messages },
  { about: "what an upstream may say", file: "corpus/answers.ts", exchanges: answers },
];
