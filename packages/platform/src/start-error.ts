/** Why Baton doesn't start, or stops: one sentence that the user reads without a stack trace. */
export class StartError extends Error {
  override name = 'StartError';
}

/** The code of a failed system call, such as EACCES; empty for any other error. */
export function failureCode(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? '';
}
