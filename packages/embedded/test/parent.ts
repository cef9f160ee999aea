import { startEmbeddedPostgres } from "../src/database.ts";

/** A process for the tests to kill: starts the server on the given folder, prints a line, and stays. */
const [dataDir = ""] = process.argv.slice(2);
await startEmbeddedPostgres({ dataDir });
console.log("started");
setInterval(() => {}, 60_000);
