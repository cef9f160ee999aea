import { startEmbeddedPostgres } from "../src/database.ts";

/** A process to be killed: starts the server on the folder it is given, says so, and stays. */
const [dataDir = ""] = process.argv.slice(2);
await startEmbeddedPostgres({ dataDir });
console.log("started");
setInterval(() => {}, 60_000);
