/**
 * Reports to the tests: the refused codes, the written events, the generated secrets, the log, and responses that don't
 * have their declared form. In production there is no observer, and none of this costs
 * anything.
 */
export interface Observer {
  refused(service: string, endpoint: string, code: string): void;
  emitted(service: string, endpoint: string, type: string): void;
  /** A secret was generated: the leak test must not find it in any log, table or response. */
  made(kind: string, secret: string): void;
  logged(line: string): void;
  /** A statement is sent to the database. */
  ran(text: string): void;
  /** The program did what its declaration does not allow; the request fails. */
  violated(message: string): never;
}

let current: Observer | undefined;

export function observe(observer: Observer | undefined): void {
  current = observer;
}

export function observer(): Observer | undefined {
  return current;
}
