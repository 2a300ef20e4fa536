import { useRef } from 'react';
import { newIdempotencyKey } from '@baton/sdk';

/** Idempotency keys of one form. */
export interface IdempotencyKeys {
  /** @returns the same key for the same body, so that sending it again after a lost answer creates nothing twice */
  of(body: unknown): string;
  /** The body was taken: the same one again is a new one. */
  taken(): void;
}

export function useIdempotencyKeys(): IdempotencyKeys {
  const last = useRef<{ body: string; key: string }>(undefined);
  return {
    of(body) {
      const text = JSON.stringify(body);
      if (last.current?.body !== text) last.current = { body: text, key: newIdempotencyKey() };
      return last.current.key;
    },
    taken() {
      last.current = undefined;
    },
  };
}
