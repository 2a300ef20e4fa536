import { exitCodes } from './error-text.ts';

/** A failure that the user can fix: its message is printed without a stack. */
export class PlainError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? exitCodes.failed;
  }
}
