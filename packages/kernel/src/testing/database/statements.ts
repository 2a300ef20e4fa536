/** Records the statements that this process's services send to their database during an action. */
let noted: string[] | undefined;

/** Used by the observer of the tests. */
export function noteStatement(text: string): void {
  noted?.push(text);
}

/** Runs `work` and returns the statements that were sent during it, in alphabetical order. Calls can't overlap. */
export async function statementsOf<T>(work: () => Promise<T>): Promise<{ result: T; statements: string[] }> {
  const statements: string[] = [];
  noted = statements;
  try {
    return { result: await work(), statements: statements.sort() };
  } finally {
    noted = undefined;
  }
}
