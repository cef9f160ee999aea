/** Loaded by `--import` into a command's process, whose control plane it plays (./script.ts). */
import nock from "nock";
import { type Script, scriptedUrl, scriptVariable } from "./script.ts";

// A request that the script does not name fails.
nock.disableNetConnect();
const script: Script = JSON.parse(process.env[scriptVariable] ?? "{}");
for (const [path, { status = 200, headers = {}, body = "", delayMs = 0, isReset }] of Object.entries(script)) {
  const request = nock(scriptedUrl).persist().get(path).query(true).delay(delayMs);
  if (isReset) request.replyWithError(Object.assign(new Error("reset"), { code: "ECONNRESET" }));
  else request.reply(status, body, { "content-type": "application/json", ...headers });
}
