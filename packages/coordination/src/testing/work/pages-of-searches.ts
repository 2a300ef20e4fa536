import assert from 'node:assert/strict';
import type { Statement } from '@baton/kernel/database/sql';
import {
  findNextTasks,
  findWork,
  lockNextTasks,
  sliceOfPage,
  type WorkSearch,
} from '../../work/available/available.sql.ts';
import type { TestCoordination } from '../coordination.ts';
import { pagesReadBy } from './pages-read.ts';

/** A search that had to skip other callers' rows would read at least one page for every hundred of them. */
const pagesMoreMax = 35;

/** The pages that each search reads, by its name. */
export type PagesOfSearches = ReadonlyMap<string, number>;

/** The search of a caller without filters. */
export function searchOf(baton: TestCoordination, principalId: string): WorkSearch {
  const narrowed = { viewerId: null, assigneeId: undefined, includesAssigned: false, workspace: undefined };
  return { tenantId: baton.tenantId, principalId, ...narrowed };
}

/**
 * Counts the pages of the statements that search for work. Planning, which a connection does only once for some of
 * them, is included.
 */
export async function pagesOfSearches(
  { pool }: TestCoordination,
  search: WorkSearch,
  more: Readonly<Record<string, Statement<unknown>>> = {},
): Promise<PagesOfSearches> {
  const statements = {
    available: findWork(search, sliceOfPage({ limit: 1, cursor: undefined })),
    next: findNextTasks(search, 1),
    ...(search.viewerId === null && { locked: lockNextTasks(search, 1) }),
    ...more,
  };
  const pages = new Map<string, number>();
  for (const [name, statement] of Object.entries(statements)) {
    const runs = [await pagesReadBy(pool, statement), await pagesReadBy(pool, statement)];
    pages.set(name, Math.min(...runs));
  }
  return pages;
}

export function assertNoMorePages(before: PagesOfSearches, after: PagesOfSearches): void {
  for (const [name, pages] of after)
    assert.ok(
      pages < (before.get(name) ?? 0) + pagesMoreMax,
      `${name} read ${pages} pages, and ${before.get(name)} before`,
    );
}
