/** An error that prevents Baton from running. Its message is shown to the user without a stack trace. */
export class StartError extends Error {
  override name = 'StartError';
}

/** The code of a failed system call, such as EACCES; empty for any other error. */
export function failureCode(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? '';
}
