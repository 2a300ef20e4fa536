import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Db } from '@baton/kernel/database/db';
import { sql } from '@baton/kernel/database/sql';
import type { Answer, TestCoordination } from './coordination.ts';

/** Longer than any operation takes on a busy machine; only a failing test reaches this timeout. */
const waitMsMax = 60_000;

/** Waits for a condition. @throws AssertionError when it doesn't become true within the timeout */
export async function until(
  holds: () => boolean | Promise<boolean>,
  what = 'it',
  msMax = waitMsMax,
): Promise<void> {
  for (const deadline = performance.now() + msMax; !(await holds()); await sleep(5))
    assert.ok(performance.now() < deadline, `${what} took longer than ${msMax} ms`);
}

/**
 * Waits until a request, or a turn of the worker, is blocked by a lock of this transaction.
 * @throws AssertionError if the request or turn ends instead
 */
export async function untilBlockedBy(tx: Db, baton: TestCoordination, sent: Promise<unknown>): Promise<void> {
  const { pid } = (await tx.row(sql<{ pid: number }>`select pg_backend_pid() as pid`)) as { pid: number };
  const waiting = sql<{ n: number }>`
    select count(*)::int as n from pg_stat_activity where ${pid}::int = any (pg_blocking_pids(pid))`;
  let ended: { answer: unknown } | undefined;
  sent.then(
    (answer) => {
      ended = { answer };
    },
    () => undefined,
  );
  await until(async () => {
    assert.ok(ended === undefined, `it ended with ${JSON.stringify(ended)}`);
    return ((await baton.pool.row(waiting))?.n ?? 0) > 0;
  }, 'the wait for the lock');
}

/** Keeps a number of requests in progress until it is stopped, and stores their responses. */
export function startTraffic(parallel: number, request: (n: number) => Promise<Answer>) {
  let goes = true;
  const answered: { status: number }[] = [];
  const loops = Array.from({ length: parallel }, async (_, n) => {
    while (goes) answered.push({ status: (await request(n)).status });
  });
  return {
    answered,
    async stop() {
      goes = false;
      await Promise.all(loops);
    },
  };
}
