/** The stack cannot be started as asked; `advice` says what to change. */
export class StartError extends Error {
  readonly advice: string;

  constructor(message: string, advice: string, options?: ErrorOptions) {
    super(message, options);
    this.advice = advice;
  }
}
