/**
 * What the tests see from inside: which codes were refused, which events were written, which secrets were made, what
 * was logged, and whether an answer has its declared form. In production there is no observer, and none of this costs
 * anything.
 */
export interface Observer {
  refused(service: string, endpoint: string, code: string): void;
  emitted(service: string, endpoint: string, type: string): void;
  /** A secret was made: the leak test must not find it in any log, table or answer. */
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
