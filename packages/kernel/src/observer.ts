/**
 * What the tests see of the inside: which codes were raised, which events were written, which secrets were made, what
 * was logged, and whether an answer has its declared form. In production there is no observer and none of this costs
 * anything.
 */
export interface Observer {
  refused(service: string, endpoint: string, code: string): void;
  emitted(service: string, endpoint: string, type: string): void;
  /** A secret came into being: the leak test must not find it anywhere. */
  made(kind: string, secret: string): void;
  logged(line: string): void;
  /** A declaration and the program disagree; the request fails with it. */
  violated(message: string): never;
}

let current: Observer | undefined;

export function observe(observer: Observer | undefined): void {
  current = observer;
}

export function observer(): Observer | undefined {
  return current;
}
