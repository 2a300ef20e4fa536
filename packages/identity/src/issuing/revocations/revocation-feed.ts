import type { Db } from '@baton/kernel/database/db';
import { within } from '@baton/kernel/limits/within';
import type { Settings } from '../settings.ts';
import { findRevocationEvents } from './revocation-feed.sql.ts';
import { isRevocation, makeRevocationList, type RevocationList } from './revocation-list.ts';

const entriesMax = 5000;
/**
 * The limit for one tenant. A tenant's revocations must not fill the list, because a full list revokes the tokens of
 * other tenants.
 */
const entriesOfTenantMax = 500;
/**
 * Requests are anonymous and unlimited, so the list is cached for this time: the database is read at most twice a
 * second.
 */
const cachedMs = 500;
/** A margin, because clocks differ, and because an event has the start time of its transaction. */
const marginSeconds = 120;
const announcedMsMax = 1000;

/** The list of revocations within the lifetime of an access token. */
export class RevocationFeed {
  readonly #db: Db;
  readonly #windowSeconds: number;
  readonly #announce: (() => Promise<void>) | undefined;
  #list: RevocationList | undefined;
  #readAtMs = Number.NEGATIVE_INFINITY;
  #reading: Promise<RevocationList> | undefined;

  /** @param announce notifies services of the same process, so that they read the list at once */
  constructor(
    db: Db,
    settings: Pick<Settings, 'IAM_TOKEN_TTL_SECONDS'>,
    announce: (() => Promise<void>) | undefined,
  ) {
    this.#db = db;
    this.#windowSeconds = settings.IAM_TOKEN_TTL_SECONDS + marginSeconds;
    this.#announce = announce;
  }

  read(): Promise<RevocationList> {
    const startedAtMs = performance.now();
    if (this.#list !== undefined && startedAtMs - this.#readAtMs < cachedMs)
      return Promise.resolve(this.#list);
    if (this.#reading !== undefined) return this.#reading;
    const reading: Promise<RevocationList> = this.#load()
      .then((list) => {
        // Not cached if the read was abandoned in the meantime, because its list may lack later revocations.
        if (this.#reading === reading) [this.#list, this.#readAtMs] = [list, startedAtMs];
        return list;
      })
      .finally(() => {
        if (this.#reading === reading) this.#reading = undefined;
      });
    this.#reading = reading;
    return reading;
  }

  /**
   * Call it after a commit, before the commit is acknowledged: readers from then on find what the transaction revoked.
   * Waits at most a second for the services of the same process.
   * @param eventTypes the types of the transaction's events
   * @returns undefined if nothing was revoked
   */
  noteCommitted(eventTypes: ReadonlySet<string>): Promise<void> | undefined {
    if (![...eventTypes].some(isRevocation)) return undefined;
    this.#list = undefined;
    // A read that is in progress may not see the commit, so it is abandoned.
    this.#reading = undefined;
    // If announcing fails, the services still read the list at their next poll.
    return this.#announce && within(announcedMsMax, this.#announce()).catch(() => undefined);
  }

  async #load(): Promise<RevocationList> {
    const events = await this.#db.rows(
      findRevocationEvents(this.#windowSeconds, entriesOfTenantMax + 1, entriesMax + 1),
    );
    return makeRevocationList(events, { entriesMax, entriesOfTenantMax });
  }
}
