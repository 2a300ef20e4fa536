/** An error of the console's own server, in the format of the services. */
export class ConsoleRefusal extends Error {
  readonly status: number;
  readonly code: string;
  /** What the identity provider reported, for an administrator who tests it. */
  readonly reported: string | undefined;
  constructor(status: number, code: string, message: string, reported?: string) {
    super(message);
    this.status = status;
    this.code = code;
    this.reported = reported;
  }
}
