import * as prompts from "@clack/prompts";
import { agentName, scopeName } from "@svc/core";
import { Fault } from "../fault.ts";
import { type Asked, askSource, isOpenQuestion } from "./ask.ts";
import type { InitFlags } from "./flags.ts";
import type { Offer } from "./offer.ts";
import { nameFault, type Source, type SourceKind, sourceOf } from "./source.ts";

/** Prompts are progress: results alone go to standard output. */
const output = process.stderr;

/** @throws {Fault} where the person ends the questions */
async function answered<T>(prompt: Promise<T | typeof prompts.CANCEL_SYMBOL>): Promise<T> {
  const answer = await prompt;
  if (prompts.isCancel(answer)) throw new Fault("cancelled", "Nothing was written.");
  return answer as T;
}

const text = (message: string, options: Partial<prompts.TextOptions> = {}): Promise<string> =>
  answered(prompts.text({ message, output, ...options })).then((answer) => answer ?? "");

const messageOf = (schema: typeof agentName | typeof scopeName) => (value: string | undefined) => {
  const read = schema.safeParse(value ?? "");
  return read.success ? undefined : read.error.issues[0]?.message;
};

/** Agent and scope, as far as the flags do not name them. */
export async function askNames({ agent, scope }: InitFlags): Promise<{ agent: string; scope: string }> {
  prompts.intro("Guard an agent", { output });
  const named =
    agent ?? (await text("What is the agent called?", { placeholder: "planner", validate: messageOf(agentName) }));
  const purpose = "Under which scope does it act? This is what a person consents to.";
  return {
    agent: named,
    scope: scope ?? (await text(purpose, { initialValue: named, validate: messageOf(scopeName) })),
  };
}

const kinds: readonly { value: SourceKind | "none"; label: string }[] = [
  { value: "mcp", label: "An MCP server at a URL" },
  { value: "stdio", label: "An MCP server that a command starts" },
  { value: "openapi", label: "An HTTP API with an OpenAPI document" },
  { value: "http", label: "An HTTP API without one" },
  { value: "none", label: "Nothing more" },
];

const questions: Readonly<Record<SourceKind, { message: string; placeholder: string }>> = {
  mcp: { message: "Its URL?", placeholder: "http://127.0.0.1:3000/mcp" },
  stdio: { message: "The command?", placeholder: "npx -y @modelcontextprotocol/server-filesystem@2026.8.31 /data" },
  openapi: { message: "The document, a file or a URL?", placeholder: "openapi.yaml" },
  http: { message: "Its base address?", placeholder: "https://api.example.com" },
};

/** Source after source, each asked at once, so that a mistake can be corrected. */
export async function askSources(credentials: ReadonlyMap<string, string>, given: readonly Offer[]): Promise<Offer[]> {
  const offers = [...given];
  for (;;) {
    const choices = offers.length === 0 ? kinds.filter(({ value }) => value !== "none") : [...kinds];
    const kind = await answered(prompts.select({ message: "What does it call?", options: choices, output }));
    if (kind === "none") return offers;
    const offer = await askOne(kind, credentials, offers).catch((cause: unknown) => {
      if (!(cause instanceof Fault) || cause.message === "cancelled") throw cause;
      prompts.log.error(`${cause.message}\n${cause.advice}`, { output });
    });
    if (offer !== undefined) offers.push(offer);
  }
}

async function askOne(kind: SourceKind, credentials: ReadonlyMap<string, string>, known: readonly Offer[]) {
  const validate = (name: string | undefined) =>
    known.some((offer) => offer.name === name) ? "another source has this name" : nameFault(name ?? "");
  const name = await text("A name for it, the first part of its tools' names?", { placeholder: "files", validate });
  const value = await text(questions[kind].message, {
    placeholder: questions[kind].placeholder,
    validate: (given) => (given ? undefined : "must not be empty"),
  });
  const base = kind === "openapi" ? await text("Its base address? Empty: as the document says.") : "";
  return judged(await asked(await sourceOf(kind, name, value, { base: base || undefined }), credentials));
}

export async function asked(source: Source, credentials: ReadonlyMap<string, string>): Promise<Asked> {
  const spinner = prompts.spinner({ output });
  spinner.start(`Asking ${source.name}`);
  try {
    const found = await askSource(source, credentials);
    spinner.stop(`${source.name}: ${found(false).read}`);
    return found;
  } catch (cause) {
    spinner.stop(`${source.name} was not read`);
    throw cause;
  }
}

/** Who can write the results is asked where no hint says it. */
export async function judged(found: Asked): Promise<Offer> {
  if (!isOpenQuestion(found)) return found(false);
  const message = `Can outsiders write what ${found(false).name} returns, such as web pages or mail?`;
  const isOutside = await answered(prompts.confirm({ message, initialValue: true, output }));
  return found(!isOutside);
}

export async function askCommand(): Promise<readonly string[]> {
  const command = await text("How is the agent started? Empty: you start it yourself.", {
    placeholder: "node agent.js",
  });
  const { parseArgsStringToArgv } = await import("string-argv");
  return parseArgsStringToArgv(command);
}
