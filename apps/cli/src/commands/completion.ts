import { Command } from "commander";

const examples = `
Examples:
  svc completion bash > /etc/bash_completion.d/svc
  svc completion zsh > "\${fpath[1]}/_svc"
  svc completion fish > ~/.config/fish/completions/svc.fish
`;

/** For the list of commands; the library replaces it when it runs. */
export const command = (): Command =>
  new Command("completion").argument("<shell>", "bash, zsh or fish").addHelpText("after", examples);

/** With the names and ids of the control plane. Adds `completion <shell>`, and the hidden `complete` that the shells call. */
export async function addCompletion(program: Command): Promise<void> {
  const { default: tab } = await import("@bomb.sh/tab/commander");
  const { completeNames } = await import("../complete-names.ts");
  completeNames(tab(program, { completionCommandName: "completion" }));
  program.commands.find((command) => command.name() === "completion")?.addHelpText("after", examples);
}
