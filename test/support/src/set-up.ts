import { installMissingParts } from "./machine/install-parts.ts";

// Runs before the test command, on the machine's Node and before anything is built.
installMissingParts((line) => console.error(line));
