import type { Db } from '@baton/kernel/database/db';
import type { CredentialReads } from '@baton/kernel/limits/concurrency-limit';
import { findEntry } from './bindings.sql.ts';
import type { EntryRow } from './entry.ts';

/** A cache of bindings with the lifetime `ttlMs`. Absence is cached too, so that unknown identities cost no query. */
export interface Bindings {
  /** @throws the database's error when the entry can't be read and the cached one is older than `staleAfterMs` */
  find(issuer: string, iamPrincipalId: string): Promise<EntryRow | undefined>;
  /** Drops an identity after its binding or principal has changed. */
  forget(issuer: string, iamPrincipalId: string): void;
  /** Drops all identities, because notifications of changes may have been lost. */
  forgetAll(): void;
}

const entriesMax = 10_000;

interface Known {
  entry: EntryRow | undefined;
  loadedAt: number;
}

/** @param reads bounds the number of concurrent reads; cached identities need none */
export function createBindings(
  db: Db,
  reads: CredentialReads,
  options: { ttlMs: number; staleAfterMs: number },
): Bindings {
  const known = new Map<string, Known>();
  const underWay = new Map<string, Promise<EntryRow | undefined>>();

  return {
    async find(issuer, iamPrincipalId) {
      const name = `${iamPrincipalId} ${issuer}`;
      const found = known.get(name);
      const ageMs = found === undefined ? Number.POSITIVE_INFINITY : performance.now() - found.loadedAt;
      const fresh = found?.entry === undefined ? ageMs < options.staleAfterMs : ageMs < options.ttlMs;
      if (found !== undefined && fresh) return found.entry;
      try {
        return await load(name, issuer, iamPrincipalId);
      } catch (error) {
        // If the read fails, the cached entry may be used, unless it was dropped in the meantime and is therefore known
        // to be outdated.
        if (found !== undefined && known.get(name) === found && ageMs < options.staleAfterMs)
          return found.entry;
        throw error;
      }
    },
    forget(issuer, iamPrincipalId) {
      const name = `${iamPrincipalId} ${issuer}`;
      known.delete(name);
      // A read that started before the change must not restore the old entry.
      underWay.delete(name);
    },
    forgetAll() {
      known.clear();
      underWay.clear();
    },
  };

  function load(name: string, issuer: string, iamPrincipalId: string): Promise<EntryRow | undefined> {
    const running = underWay.get(name);
    if (running !== undefined) return running;
    const loading: Promise<EntryRow | undefined> = reads(() =>
      db.row(findEntry(issuer, iamPrincipalId)),
    ).then(
      (entry) => {
        if (underWay.get(name) === loading) {
          underWay.delete(name);
          if (known.size >= entriesMax) known.delete(known.keys().next().value as string);
          known.set(name, { entry, loadedAt: performance.now() });
        }
        return entry;
      },
      (error: unknown) => {
        if (underWay.get(name) === loading) underWay.delete(name);
        throw error;
      },
    );
    underWay.set(name, loading);
    return loading;
  }
}
