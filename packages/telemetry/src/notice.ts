import type { StaticText } from "./contract-types.ts";
import type { WriteLog } from "./logger.ts";

/**
 * Reports a configuration fault to the operator at WARNING. The log line is static, like every other; the names of the
 * settings, never their values, are written to standard error.
 */
export type Notice = <M extends string>(message: M & StaticText<M>, settingNames?: readonly string[]) => void;

const settingName = /^[A-Za-z_][A-Za-z0-9_]{0,127}$/;

/** `writeLine` takes one line of plain text without its end. */
export const createNotice =
  (writeLog: WriteLog, writeLine: (line: string) => void): Notice =>
  (message, settingNames = []) => {
    writeLog("warn", message);
    const names = settingNames.map((name) => (settingName.test(name) ? name : "(not a setting name)"));
    writeLine(names.length === 0 ? `WARNING: ${message}` : `WARNING: ${message}: ${names.join(", ")}`);
  };
