/** A failure with an advice: what went wrong, and what to do next. Printed without a stack. */
export class Fault extends Error {
  readonly advice: string;

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "Fault";
    this.advice = advice;
  }
}
