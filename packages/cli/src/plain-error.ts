import { exitCodes } from './error-text.ts';

/** A failure that is the user's to mend: its message is a sentence, printed without a stack. */
export class PlainError extends Error {
  readonly exitCode: number;

  constructor(message: string, options: ErrorOptions & { readonly exitCode?: number } = {}) {
    super(message, options);
    this.exitCode = options.exitCode ?? exitCodes.failed;
  }
}
