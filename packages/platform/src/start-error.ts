/** A reason not to start (or to stop), said to the person as one plain sentence, without a stack. */
export class StartError extends Error {
  override name = 'StartError';
}

/** The code of a file system's or network's failure, such as EACCES. */
export function failureCode(error: unknown): string {
  return (error as NodeJS.ErrnoException | undefined)?.code ?? '';
}
