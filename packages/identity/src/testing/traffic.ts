import assert from 'node:assert/strict';
import { sql } from '@baton/kernel/database/sql';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import type { Answer, TestIdentity } from './identity.ts';
import { made, makePrincipal, makeTenant } from './objects.ts';
import { until } from './waiting.ts';

/** Five times the longest time on a quiet machine. Without the lock, an act failed after 10 s. */
const actMsMax = 5000;

/** The number of responses after which the traffic has certainly started. */
const enoughAnswers = byDepth(25, 100);

interface Answered {
  readonly startedAt: number;
  readonly answer: Answer;
}

interface ActAmid {
  readonly parallel?: number;
  /** Sends the request that the victim repeats continuously. */
  request(): Promise<Answer>;
  act(): Promise<Answer>;
  /** Whether the requests must be refused after the act. */
  readonly isShut?: boolean;
}

interface Traffic {
  readonly answered: readonly Answered[];
  /** Stops the traffic, and waits for pending requests. */
  stop(): Promise<void>;
}

/** Keeps `parallel` requests in flight until it is stopped; each request is sent again after its response. */
function startTraffic(parallel: number, request: () => Promise<Answer>): Traffic {
  let goes = true;
  const answered: Answered[] = [];
  const loops = Array.from({ length: parallel }, async () => {
    while (goes) {
      const startedAt = performance.now();
      answered.push({ startedAt, answer: await request() });
    }
  });
  const stopped = Promise.all(loops);
  // `stop` awaits this promise, possibly long after it has rejected.
  stopped.catch(() => undefined);
  return {
    answered,
    async stop() {
      goes = false;
      await stopped;
    },
  };
}

/**
 * Executes an emergency act while its victim is sending requests, which then continue: no request that is started
 * after the act was acknowledged may succeed. On a loaded machine, even the disable of an unused principal takes
 * long at such a time, so the act may take three times as long. Only the long test checks that.
 * @param identity the process of the act
 */
export async function actAmid(
  identity: TestIdentity,
  { parallel = 200, request, act, isShut = true }: ActAmid,
): Promise<void> {
  const tenantId = await makeTenant(identity);
  const unused = await makePrincipal(identity, tenantId);
  const traffic = startTraffic(parallel, request);
  try {
    await until(() => traffic.answered.length >= enoughAnswers, 'the traffic goes');
    const began = performance.now();
    await made(identity.post(`/tenants/${tenantId}/principals/${unused}:disable`));
    const startedAt = performance.now();
    const { status, body } = await act();
    const acknowledgedAt = performance.now();
    assert.ok([200, 204].includes(status), JSON.stringify(body));
    assertTookLess(startedAt, Math.max(actMsMax, 3 * (startedAt - began)), 'the act');
    const isLater = (one: Answered) => one.startedAt > acknowledgedAt;
    await until(() => traffic.answered.some(isLater), 'a request was answered that came after the act');
    await traffic.stop();
    const through = traffic.answered.filter((one) => isLater(one) && one.answer.status < 300);
    if (isShut) assert.deepEqual(through.slice(0, 3), [], `${through.length} got through after the act`);
  } finally {
    await traffic.stop();
  }
}

/** The number of audit rows for an allowed action. */
export async function countAllowed(
  { pool }: TestIdentity,
  tenantId: string,
  action: string,
): Promise<number> {
  const row = await pool.row<{ count: number }>(sql`
    select count(*) as count from audit_records
    where tenant_id = ${tenantId} and action = ${action} and outcome = 'allowed'`);
  return row?.count ?? 0;
}
