/** What the console's own server refuses, in the form of the services' errors. */
export class ConsoleRefusal extends Error {
  readonly status: number;
  readonly code: string;
  constructor(status: number, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}
