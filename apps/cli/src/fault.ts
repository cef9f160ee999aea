interface FaultOptions extends ErrorOptions {
  readonly exitCode?: 1 | 2;
  readonly code?: string | undefined;
}

/** A failure and its remedy, printed without a stack. */
export class Fault extends Error {
  readonly advice: string;
  /** 1: the command failed or was refused. 2: it could not be tried. */
  readonly exitCode: 1 | 2;
  /** The control plane's error code, if it sent one. */
  readonly code: string | undefined;

  constructor(message: string, advice: string, { exitCode = 1, code, ...options }: FaultOptions = {}) {
    super(message, options);
    this.code = code;
    this.name = "Fault";
    this.advice = advice;
    this.exitCode = exitCode;
  }
}

/** What could not be tried: the command line, a file or the environment is wrong, or the control plane does not respond. */
export const notTried = (message: string, advice: string, cause?: unknown): Fault =>
  new Fault(message, advice, { cause, exitCode: 2 });
