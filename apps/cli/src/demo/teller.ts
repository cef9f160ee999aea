import { colors } from "../colors.ts";

/** How a step is told: what was asked, what was decided about it, and why. */
export interface Teller {
  asked(text: string): void;
  decided(text: string): void;
  why(text: string): void;
}

/** One step of the story. Throws where something came out otherwise than it tells. */
export interface Step<Scene> {
  readonly title: string;
  run(scene: Scene, tell: Teller): Promise<void>;
}

/** The story as it is shown: readable, or one JSON line a step. */
export interface Narration {
  begin(number: number, of: number, title: string): Teller;
  end(failure: Error | undefined): void;
}

type Told = { asked: string[]; decided: string[]; why: string[] };

export function narration(format: "text" | "json", write: (line: string) => void): Narration {
  let step: { number: number; title: string; told: Told } | undefined;
  const tellerOf = (told: Told, show: (kind: keyof Told, text: string) => void): Teller => {
    const tell = (kind: keyof Told) => (text: string) => {
      told[kind].push(text);
      show(kind, text);
    };
    return { asked: tell("asked"), decided: tell("decided"), why: tell("why") };
  };
  return {
    begin(number, of, title) {
      const told: Told = { asked: [], decided: [], why: [] };
      step = { number, title, told };
      if (format === "json") return tellerOf(told, () => {});
      write(`\n${colors.bold(`[${number}/${of}] ${title}`)}`);
      return tellerOf(told, (kind, text) => write(`  ${paint[kind](kind.padEnd(8))} ${text}`));
    },
    end(failure) {
      if (step === undefined) return;
      const { number, title, told } = step;
      if (format === "json")
        write(JSON.stringify({ step: number, title, ok: failure === undefined, ...told, failure: failure?.message }));
      else if (failure) write(`  ${colors.red("failed")}   ${failure.message}`);
    },
  };
}

const paint = { asked: colors.cyan, decided: colors.green, why: colors.dim } as const;
