import { type Db, type Pool, sqlState } from '@baton/kernel/database/db';
import type { AuditKey } from './audit-key.ts';
import { auditedTenants } from './audited-tenants.ts';
import {
  chainStart,
  type Head,
  isGenuineRemoval,
  linkHmac,
  recordsPerLinkMax,
  recordsProblem,
  startHmac,
} from './chain.ts';
import { RecordCheck } from './record-check.ts';
import type { BehindRow, ContentRow, SealRow } from './seal.ts';
import {
  findContents,
  findLastRemoval,
  findRecordsBehind,
  findSeal,
  findSealsAfter,
  findStarts,
  setReadOnlySnapshot,
} from './seals.sql.ts';

/** The position of a fault: the affected records and their times. */
type Place = Pick<SealRow, 'first_sequence' | 'last_sequence' | 'occurred_from' | 'occurred_to'>;

/** A fault at one position in a chain. */
export interface ChainProblem {
  readonly position: number;
  /** The affected records; undefined if they can no longer be identified. */
  readonly place: Place | undefined;
  readonly what: string;
}

export interface ChainReport {
  readonly tenantId: string;
  readonly links: number;
  readonly records: number;
  /** Records that retention removed; their seals are checked. */
  readonly removed: number;
  /** Records after the last link. */
  readonly unsealed: number;
  /** The last link; undefined if there is none. */
  readonly head: SavedHead | undefined;
  readonly problems: readonly ChainProblem[];
  /** The number of problems that are not listed. */
  readonly more: number;
}

/** The part of a chain's last link that is stored for a later comparison. */
export type SavedHead = Head & Place;
/** By tenant. */
export type Heads = Readonly<Record<string, SavedHead>>;
export type Keys = ReadonlyMap<string, AuditKey>;

/** The number of links that are read at a time, with their records. */
const linksPerPage = 32;
const problemsMax = 100;
/** Records are sealed within seconds, but allow for a restart of identity. */
const unsealedMinutesMax = 15;

/**
 * Verifies the chain of every tenant that has a chain or records, in the order of their ids, each in one snapshot.
 * @param keys by their ids
 * @param saved ends of chains that must still exist
 */
export async function* verifyChains(
  pool: Pool,
  keys: Keys,
  { tenantId, saved = {} }: { tenantId?: string | undefined; saved?: Heads } = {},
): AsyncGenerator<ChainReport> {
  if (tenantId !== undefined) {
    yield await verifyReadable(pool, keys, tenantId, saved[tenantId]);
    return;
  }
  const unseen = new Map(Object.entries(saved));
  for await (const found of auditedTenants(pool)) {
    yield await verifyReadable(pool, keys, found, unseen.get(found));
    unseen.delete(found);
  }
  for (const [gone, head] of unseen) yield await verifyReadable(pool, keys, gone, head);
}

/**
 * Verifies a chain. If it contains values that can't be read, such as the time `infinity`, it is broken, and the other
 * chains are still checked.
 */
async function verifyReadable(
  pool: Pool,
  keys: Keys,
  tenantId: string,
  saved: SavedHead | undefined,
): Promise<ChainReport> {
  try {
    return await verifyChain(pool, keys, tenantId, saved);
  } catch (error) {
    // PostgreSQL (22…, and 0A000 for `infinity`) or JavaScript can't convert the data.
    const isOfData = error instanceof RangeError || /^(22|0A000)/.test(sqlState(error) ?? '');
    if (!isOfData) throw error;
    const walk = new ChainWalk(keys, 0, 0);
    walk.missForm();
    return walk.report(tenantId, { unsealed: 0, skipped: 0, overdue: 0 });
  }
}

/** Verifies one chain, from its first link to its last, and the records after it. */
async function verifyChain(
  pool: Pool,
  keys: Keys,
  tenantId: string,
  saved: SavedHead | undefined,
): Promise<ChainReport> {
  return pool.transaction(async (tx) => {
    await tx.run(setReadOnlySnapshot());
    const removed = await findRemoved(tx, keys, tenantId);
    const walk = new ChainWalk(keys, removed.isGenuine ? removed.position : 0, await findUnproven(tx, keys));
    for (;;) {
      const links = await tx.rows(findSealsAfter(tenantId, walk.last?.position ?? 0, linksPerPage));
      if (links.length === 0) break;
      const contents = await tx.rows(findContents(walk.rangesOf(links)));
      for (const [index, link] of links.entries()) walk.take(link, contents[index] as ContentRow);
    }
    if (saved !== undefined) {
      const found = await tx.row(findSeal(tenantId, saved.position));
      if (found?.hmac !== saved.hmac) walk.missSaved(saved, found !== undefined);
    }
    if (!removed.isGenuine) walk.missMark(removed.position);
    await checkUnsealed(tx, tenantId, walk);
    const after = walk.last?.last_sequence ?? 0;
    const behind = await tx.row(findRecordsBehind(tenantId, after, unsealedMinutesMax));
    return walk.report(tenantId, behind as BehindRow);
  });
}

/** The last link whose records retention removed, and whether the mark was made with one of the keys. */
async function findRemoved(
  tx: Db,
  keys: Keys,
  tenantId: string,
): Promise<{ position: number; isGenuine: boolean }> {
  const removal = await tx.row(findLastRemoval(tenantId));
  if (removal === undefined) return { position: 0, isGenuine: true };
  const { position, key_id: keyId } = removal;
  const key = keys.get(keyId);
  const link = await tx.row(findSeal(tenantId, position));
  return { position, isGenuine: key !== undefined && isGenuineRemoval(key, tenantId, removal, link) };
}

/** The number up to which records may have no HMAC, according to the marks of the keys. */
async function findUnproven(tx: Db, keys: Keys): Promise<number> {
  const starts = await tx.rows(findStarts());
  const genuine = starts.filter(({ through, hmac, key_id: keyId }) => {
    const key = keys.get(keyId);
    return key !== undefined && startHmac(key, through) === hmac;
  });
  return Math.max(0, ...genuine.map(({ through }) => through));
}

/** Checks the records after the last link, one page at a time. */
async function checkUnsealed(tx: Db, tenantId: string, walk: ChainWalk): Promise<void> {
  for (let after = walk.last?.last_sequence ?? 0; ; ) {
    // The statement reads one row more than the number given here.
    const range = {
      tenant_id: tenantId,
      after,
      through: Number.MAX_SAFE_INTEGER,
      records: recordsPerLinkMax - 1,
    };
    const [content] = await tx.rows(findContents([range]));
    if (content === undefined || content.records === 0) return;
    after = walk.takeUnsealed(content);
    if (content.records < recordsPerLinkMax) return;
  }
}

/** The state of the verification of a chain. */
class ChainWalk {
  readonly #keys: Keys;
  readonly #removedThrough: number;
  readonly #problems: ChainProblem[] = [];
  #more = 0;
  #links = 0;
  #records = 0;
  #removed = 0;
  last: SealRow | undefined;
  /** False if the previous link was changed; the next link then can't be compared with it. */
  #isLastGenuine = true;

  readonly #recordCheck: RecordCheck;

  constructor(keys: Keys, removedThrough: number, unprovenThrough: number) {
    this.#keys = keys;
    this.#recordCheck = new RecordCheck([...keys.values()], unprovenThrough);
    this.#removedThrough = removedThrough;
  }

  /** The range of each link starts right after the link before it, so that no record fits in between. */
  rangesOf(links: readonly SealRow[]) {
    return links.map(({ tenant_id, position, first_sequence, last_sequence, records }, index) => {
      const before = index === 0 ? this.last : links[index - 1];
      const isNext = position === (before?.position ?? 0) + 1;
      const after = isNext ? (before?.last_sequence ?? 0) : first_sequence - 1;
      return { tenant_id, after, through: last_sequence, records: Math.min(records, recordsPerLinkMax) };
    });
  }

  take(link: SealRow, content: ContentRow): void {
    const { last } = this;
    const missing = link.position - (last?.position ?? 0) - 1;
    if (missing > 0) this.#findGap(last, link, missing);
    const linkProblem = this.#linkProblem(link, missing > 0);
    const isRemoved = link.position <= this.#removedThrough;
    const problem = linkProblem ?? (isRemoved ? remainsProblem(content) : recordsProblem(link, content));
    if (problem !== undefined) this.#find(link.position, link, problem);
    else
      for (const found of this.#recordCheck.check(content).problems) this.#find(link.position, link, found);
    this.#links += 1;
    if (isRemoved) this.#removed += link.records;
    else this.#records += content.records;
    this.#isLastGenuine = linkProblem === undefined;
    this.last = link;
  }

  /** @returns the number of the last record */
  takeUnsealed(content: ContentRow): number {
    const { problems, last } = this.#recordCheck.check(content);
    for (const found of problems) this.#find((this.last?.position ?? 0) + 1, undefined, found);
    return last;
  }

  missSaved(saved: SavedHead, isReplaced: boolean): void {
    const what = isReplaced ? 'is not the one whose head was saved' : 'is removed since its head was saved';
    this.#find(saved.position, saved, `the link ${what}`);
  }

  missForm(): void {
    this.#find(1, undefined, 'the chain or its records hold a value that nobody writes, and cannot be read');
  }

  missMark(position: number): void {
    this.#find(
      position,
      undefined,
      'the mark that retention removed the records up to here is not by a key of ours',
    );
  }

  report(tenantId: string, behind: Pick<BehindRow, 'unsealed' | 'skipped' | 'overdue'>): ChainReport {
    if (behind.overdue > 0) {
      const many = `${behind.overdue} ${behind.overdue === 1 ? 'record is' : 'records are'}`;
      const what = `${many} older than ${unsealedMinutesMax} minutes and in no link: identity doesn't seal, or the links are removed`;
      this.#find((this.last?.position ?? 0) + 1, undefined, what);
    }
    if (behind.skipped > 0) {
      const many = `${behind.skipped} ${behind.skipped === 1 ? 'record is' : 'records are'}`;
      const what = `${many} added behind the chain, or the links of them are removed`;
      this.#find((this.last?.position ?? 0) + 1, behind as BehindRow & Place, what);
    }
    return {
      tenantId,
      links: this.#links,
      records: this.#records,
      removed: this.#removed,
      unsealed: behind.unsealed,
      head: this.last,
      problems: this.#problems,
      more: this.#more,
    };
  }

  #linkProblem(link: SealRow, isAfterGap: boolean): string | undefined {
    const key = this.#keys.get(link.key_id);
    if (key === undefined) return `the link is sealed by an unknown key ${link.key_id}`;
    if (linkHmac(key, link) !== link.hmac) return 'the link is changed: its seal is not that of the key';
    const isFastened = link.previous_hmac === (this.last?.hmac ?? chainStart.hmac);
    if (isAfterGap || !this.#isLastGenuine || isFastened) return undefined;
    return 'the link does not continue the one before it';
  }

  #findGap(last: SealRow | undefined, next: SealRow, missing: number): void {
    const place = {
      first_sequence: (last?.last_sequence ?? 0) + 1,
      last_sequence: next.first_sequence - 1,
      occurred_from: last?.occurred_to ?? next.occurred_from,
      occurred_to: next.occurred_from,
    };
    const what = missing === 1 ? 'the link is removed' : `${missing} links are removed from here on`;
    this.#find(next.position - missing, place, what);
  }

  #find(position: number, place: Place | undefined, what: string): void {
    if (this.#problems.length < problemsMax) this.#problems.push({ position, place, what });
    else this.#more += 1;
  }
}

function remainsProblem({ records }: ContentRow): string | undefined {
  return records === 0 ? undefined : 'a record is added where retention removed all';
}
