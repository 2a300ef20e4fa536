import { useRef } from 'react';
import { newIdempotencyKey } from '@baton/sdk';

/** Idempotency keys of one form. */
export interface IdempotencyKeys {
  /** @returns the same key for the same body, so that a retry after a lost response creates no duplicate */
  of(body: unknown): string;
  /** The request was accepted, so sending the same body again is a new request. */
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
