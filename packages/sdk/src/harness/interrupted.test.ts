import assert from 'node:assert/strict';
import { mock, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type BatonClient, createClient, LeaseLostError } from '../index.ts';
import { type Received, type StubAnswer, startStub } from '../testing/stub-service.ts';
import { stubWork } from '../testing/stub-work.ts';
import type { Harness } from './harness.ts';
import type { Lease } from './lease.ts';
import { LeaseClock } from './lease-clock.ts';

// Failures around a harness, with an in-memory service and leases of 30 seconds.
const leaseSeconds = 30;

async function withHarness(
  stub: ReturnType<typeof stubWork>,
  work: (harness: Harness, calls: string[], baton: BatonClient) => Promise<void>,
): Promise<void> {
  const service = await startStub((request) => stub.answer(request));
  try {
    const baton = createClient({ url: service.url, credential: { token: 'pat' } });
    const harness = await baton.harness.open({ name: 'tests', leaseSeconds });
    try {
      await work(harness, stub.calls, baton);
    } finally {
      await harness.close();
    }
  } finally {
    await service.close();
  }
}

const refusal = (status: number, code: string, headers = {}): StubAnswer => ({
  status,
  headers,
  body: { error: { code, message: `it is ${code}` } },
});
/** A response that is held back until `give` is called. */
function heldBack(body: object, status = 200): { readonly answer: StubAnswer; give(): void } {
  const held = Promise.withResolvers<void>();
  return {
    answer: (response) =>
      void held.promise.then(() => {
        response.writeHead(status, { 'content-type': 'application/json' });
        response.end(JSON.stringify(body));
      }),
    give: held.resolve,
  };
}

/** Waits until this call has been made. */
async function called(calls: readonly string[], name: string): Promise<void> {
  while (!calls.includes(name)) await sleep(5);
}

/**
 * Simulates that the event loop or the machine was suspended for longer than a lease: both clocks jump forward and
 * nothing runs. The returned function sets the clocks right again.
 */
function stall(): () => void {
  const mocks = [performance, Date].map((clock) => {
    const now = clock.now.bind(clock);
    return mock.method(clock, 'now', () => now() + (leaseSeconds + 1) * 1_000);
  });
  return () => {
    for (const { mock: own } of mocks) own.restore();
  };
}
const granted = {
  items: [{ task: { id: 'task-1', publicId: 'TASK-1' }, claim: { id: 'claim-1', fencingToken: 1 } }],
};
const opening = ['sessions', 'context'];
const taking = ['claim-next', 'start-run'];
const givingBack = ['cancel', 'release'];

test('a loop whose body throws gives the task back, and the failure is the answer', async () => {
  await withHarness(stubWork(1), async (harness, calls) => {
    const work = async () => {
      for await (const lease of harness.work()) throw new Error(`no luck with ${lease.task.publicId}`);
    };
    await assert.rejects(work(), /no luck with TASK-1/);
    assert.deepEqual(calls, [...opening, ...taking, ...givingBack]);
  });
});

test('work that continues after its loop was left is stopped before the task is released', async () => {
  await withHarness(stubWork(1), async (harness, calls) => {
    let behind: Promise<unknown> | undefined;
    let callsAtStop: number | undefined;
    for await (const lease of harness.work()) {
      lease.signal.addEventListener('abort', () => {
        callsAtStop = calls.length;
      });
      behind = sleep(60_000, undefined, { signal: lease.signal }).catch((error: Error) => error.name);
      break;
    }
    assert.equal(await behind, 'AbortError');
    assert.equal(callsAtStop, calls.length - givingBack.length);
  });
});

test('a harness that is closed stops the work, and lets an end that is on its way come through', async () => {
  const slow = heldBack({ task: { id: 'task-2' } });
  const began = Promise.withResolvers<void>();
  await withHarness(stubWork(2, { succeed: () => slow.answer }), async (harness, calls) => {
    const loops = harness.workParallel(2, {}, async (lease) => {
      if (lease.task.publicId === 'TASK-2') return void (await lease.succeed());
      began.resolve();
      await assert.rejects(sleep(60_000, undefined, { signal: lease.signal }));
    });
    await began.promise;
    await called(calls, 'succeed');
    const closed = harness.close();
    // Meanwhile, the other task is released.
    await called(calls, 'release');
    slow.give();
    await closed;
    await loops;
    assert.deepEqual(
      ['succeed', 'cancel', 'release', 'close'].map((name) => calls.filter((call) => call === name).length),
      [1, 1, 1, 1],
    );
  });
});

test('a harness that is closed while it searches for work ends the loop without a failure', async () => {
  await withHarness(stubWork(0, { 'claim-next': () => 'silence' }), async (harness, calls) => {
    const closed = called(calls, 'claim-next').then(() => harness.close());
    for await (const lease of harness.work()) assert.fail(lease.task.publicId);
    await closed;
    assert.deepEqual(calls, [...opening, 'claim-next', 'close']);
  });
});

test('a claim that is granted after the loop should end is released', async () => {
  const late = heldBack(granted);
  await withHarness(stubWork(0, { 'claim-next': () => late.answer }), async (harness, calls) => {
    const stop = new AbortController();
    void called(calls, 'claim-next').then(() => stop.abort());
    for await (const lease of harness.work({ signal: stop.signal })) assert.fail(lease.task.publicId);
    // The loop has ended without waiting for the response.
    assert.deepEqual(calls, [...opening, 'claim-next']);
    late.give();
    await called(calls, 'release');
    assert.deepEqual(calls, [...opening, ...taking, ...givingBack]);
  });
});

test('if one of several loops fails, the others end after their tasks', async () => {
  await withHarness(stubWork(9), async (harness, calls) => {
    const ends: (string | undefined)[] = [];
    const work = harness.workParallel(3, {}, async (lease) => {
      if (lease.task.publicId === 'TASK-1') throw new Error('no luck');
      await sleep(50);
      await lease.succeed();
      ends.push(lease.end);
    });
    await assert.rejects(work, /no luck/);
    assert.ok(ends.length <= 4 && ends.every((end) => end === 'succeeded'), String(ends));
    const countOf = (name: string) => calls.filter((call) => call === name).length;
    assert.equal(countOf('start-run'), countOf('succeed') + countOf('fail'));
  });
});

test('after the wait that a service requires, work is requested again', async () => {
  let asked = 0;
  const stop = new AbortController();
  const busy = {
    'claim-next': () => {
      asked += 1;
      if (asked === 1) setTimeout(() => stop.abort(), 400);
      return asked === 1 ? refusal(503, 'unavailable', { 'retry-after': '120' }) : undefined;
    },
  };
  await withHarness(stubWork(1, busy), async (harness) => {
    const work = async () => {
      for await (const _ of harness.work({ idleMs: 10, signal: stop.signal })) assert.fail();
    };
    await work();
    assert.equal(asked, 1);
  });
});

test('a task whose run can not start because the claim has ended does not fail the loop', async () => {
  let starts = 0;
  const late = { 'start-run': () => (starts++ === 0 ? refusal(409, 'claim_expired') : undefined) };
  await withHarness(stubWork(2, late), async (harness) => {
    const done: string[] = [];
    for await (const lease of harness.work({ idleMs: 10 })) {
      done.push((await lease.succeed()).id);
      break;
    }
    assert.deepEqual(done, ['task-2']);
  });
});

test('a session that the service does not know any more is one typed error', async () => {
  const lost = { 'claim-next': () => refusal(409, 'session_not_active') };
  await withHarness(stubWork(0, lost), async (harness, calls) => {
    const work = async () => {
      for await (const lease of harness.work()) assert.fail(lease.task.publicId);
    };
    await assert.rejects(work(), { name: 'BatonError', code: 'session_expired' });
    assert.ok(harness.signal.aborted);
    await harness.close();
    assert.deepEqual(calls, [...opening, 'claim-next']);
  });
});

test('a claim whose run was never started is released by the next start', async () => {
  const activeClaims = [
    { id: 'claim-7', sessionId: 'session-1' },
    { id: 'claim-8', sessionId: 'another' },
  ];
  const context = { permissions: ['task_types.read'], activeClaims, activeRuns: [] };
  const released: string[] = [];
  const killed = {
    context: (): StubAnswer => ({ status: 200, body: context }),
    release: ({ url }: { url: string }) => void released.push(url),
  };
  await withHarness(stubWork(0, killed), async () => {
    assert.deepEqual(released, ['/api/v1/claims/claim-7:release']);
  });
});

test('a start that fails closes the session that it opened, and leaves one that it continues', async () => {
  for (const [kept, ends] of [
    [undefined, ['sessions', 'context', 'close']],
    ['session-1', ['context']],
  ] as const) {
    const stub = stubWork(0, { context: () => refusal(403, 'permission_denied') });
    const service = await startStub((request) => stub.answer(request));
    const baton = createClient({ url: service.url, credential: { token: 'pat' } });
    const store = { read: async () => kept, write: async () => undefined };
    await assert.rejects(baton.harness.open({ name: 'tests', store }), { code: 'permission_denied' });
    assert.deepEqual(stub.calls, ends);
    await service.close();
  }
});

test('a stall between two attempts ends them: nothing more is sent when the lease may have expired', async () => {
  let attempts = 0;
  let over = () => undefined as void;
  const away = {
    succeed: (): StubAnswer => {
      attempts += 1;
      // The stall occurs before the second attempt, which starts after at least 50 ms.
      setTimeout(() => {
        over = stall();
      }, 20);
      return 'hang up';
    },
  };
  await withHarness(stubWork(1, away), async (harness) => {
    for await (const lease of harness.work()) {
      await assert.rejects(lease.succeed(), LeaseLostError);
      assert.deepEqual([attempts, lease.end, lease.signal.aborted], [1, 'lost', true]);
      break;
    }
  })
    .catch((error: unknown) => {
      // The session may have expired too, because the stall is longer than its lifetime.
      if ((error as { code?: string }).code !== 'session_expired') throw error;
    })
    .finally(() => over());
});

test('after a stall past the lease a loop that is left gives nothing back', async () => {
  let over = () => undefined as void;
  await withHarness(stubWork(1), async (harness, calls) => {
    for await (const lease of harness.work()) {
      over = stall();
      assert.equal(lease.end, undefined);
      break;
    }
    assert.deepEqual(calls, [...opening, ...taking]);
  }).finally(() => over());
});

test('a write that an end on its way refuses is refused alone: the answer to the end decides', async () => {
  const written = heldBack({ task: { id: 'task-1' } });
  const refused = heldBack({ error: { code: 'invalid_transition', message: 'not from here' } }, 422);
  for (const [answer, end] of [
    [written, 'succeeded'],
    [refused, 'lost'],
  ] as const) {
    const ending = { succeed: () => answer.answer, checkpoints: () => refusal(409, 'run_not_active') };
    await withHarness(stubWork(1, ending), async (harness, calls) => {
      for await (const lease of harness.work()) {
        const succeeded = lease.succeed();
        await called(calls, 'succeed');
        await assert.rejects(lease.checkpoint('late'), LeaseLostError);
        assert.deepEqual([lease.end, lease.signal.aborted], [undefined, false]);
        answer.give();
        if (end === 'succeeded') assert.equal((await succeeded).id, 'task-1');
        else await assert.rejects(succeeded, LeaseLostError);
        assert.equal(lease.end, end);
        break;
      }
    });
  }
});

test('a second end that the first refuses does not cut the first off', async () => {
  const first = heldBack({ task: { id: 'task-1' } });
  const ending = { succeed: () => first.answer, suspend: () => refusal(409, 'run_not_active') };
  await withHarness(stubWork(1, ending), async (harness, calls) => {
    for await (const lease of harness.work()) {
      const succeeded = lease.succeed();
      await called(calls, 'succeed');
      await assert.rejects(lease.suspend('at the same time'), LeaseLostError);
      first.give();
      await succeeded;
      assert.equal(lease.end, 'succeeded');
      break;
    }
  });
});

test("each request of a call has a key of its own, made from the caller's", async () => {
  const keys = new Map<string, string>();
  // Like the service, accepts a key for one request only.
  const judged = ({ url, headers }: Received) => {
    const key = String(headers['idempotency-key']);
    assert.ok(key.length <= 200);
    if (keys.has(key)) return refusal(409, 'idempotency_key_reused');
    keys.set(key, url);
    return undefined;
  };
  const calls = { fail: judged, cancel: judged, release: judged, approvals: judged, suspend: judged };
  await withHarness(stubWork(5, calls), async (harness) => {
    const ends: ((lease: Lease) => Promise<unknown>)[] = [
      (lease) => lease.fail('no luck', {}, { idempotencyKey: 'a' }),
      (lease) => lease.cancel('requested', { idempotencyKey: 'b' }),
      (lease) => lease.release('not now', { idempotencyKey: 'c' }),
      (lease) => lease.askApproval({ comment: 'May I?' }, { idempotencyKey: 'd' }),
      (lease) => lease.fail('no luck', {}, { idempotencyKey: 'e'.repeat(200) }),
    ];
    for await (const lease of harness.work()) {
      await ends.shift()?.(lease);
      assert.notEqual(lease.end, undefined);
      if (ends.length === 0) break;
    }
  });
  const made = [...keys.keys()];
  assert.deepEqual(made.slice(0, 9), [
    ...['a', 'a.release', 'b', 'b.release', 'c', 'c.release', 'd', 'd.suspend'],
    'e'.repeat(200),
  ]);
  assert.match(made[9] ?? '', /^[\da-f]{32}$/);
});

test('a failed release of a task is reported, unless its lease has ended', async () => {
  for (const [code, end] of [
    ['claim_holder_mismatch', 'failed'],
    ['idempotency_key_reused', undefined],
  ] as const)
    await withHarness(stubWork(1, { release: () => refusal(409, code) }), async (harness) => {
      for await (const lease of harness.work()) {
        const failed = lease.fail('no luck');
        if (end === undefined) await assert.rejects(failed, { code });
        else await failed;
        assert.equal(lease.end, end);
        break;
      }
    });
});

test('an approval is not requested for a task of another holder, and cancelled if its run can not be suspended', async () => {
  const approval: StubAnswer = { status: 201, body: { id: 'approval-1', status: 'pending' } };
  const asked = ['approvals', 'suspend'];
  for (const [changed, wanted] of [
    [{ heartbeat: () => refusal(409, 'claim_not_active') }, []],
    [
      { suspend: () => refusal(409, 'stale_claim') },
      [...asked, 'cancel /api/v1/approvals/approval-1:cancel'],
    ],
    // Without a response, it is unknown whether this run is suspended, so the approval is kept.
    [{ suspend: (): StubAnswer => 'silence' }, asked],
  ] as const) {
    const stub = stubWork(1, {
      approvals: () => approval,
      cancel: ({ url }) => void stub.calls.push(`${stub.calls.pop()} ${url}`),
      ...changed,
    });
    await withHarness(stub, async (harness, calls) => {
      for await (const lease of harness.work()) {
        if (wanted === asked) void called(calls, 'suspend').then(() => lease.lose('the power is out'));
        await assert.rejects(lease.askApproval({ comment: 'May I?' }), LeaseLostError);
        assert.equal(lease.end, 'lost');
        break;
      }
      assert.deepEqual(calls.slice(opening.length + taking.length), wanted);
    });
  }
});

test('a comment is attached to the run by default', async () => {
  const bodies: unknown[] = [];
  const heard = { comments: ({ body }: Received) => void bodies.push(body) };
  await withHarness(stubWork(1, heard), async (harness) => {
    for await (const lease of harness.work()) {
      await lease.comment({ body: 'of the run' });
      await lease.comment({ body: 'of the task', runId: null });
      await lease.succeed();
      break;
    }
  });
  assert.deepEqual(bodies, [
    { runId: 'run-1', body: 'of the run' },
    { runId: null, body: 'of the task' },
  ]);
});

test('a continued claim whose run has ended meanwhile is released', async () => {
  const [id, sessionId] = ['claim-7', 'session-1'];
  const context = {
    permissions: ['task_types.read'],
    activeClaims: [{ id, sessionId }],
    activeRuns: [{ id: 'run-7', sessionId, claimId: id, taskId: 'task-7' }],
  };
  const released: string[] = [];
  const ended = {
    context: (): StubAnswer => ({ status: 200, body: context }),
    heartbeat: (): StubAnswer => ({ status: 200, body: { id } }),
    'run-7': (): StubAnswer => ({ status: 200, body: { id: 'run-7', status: 'cancelled' } }),
    release: ({ url }: { url: string }) => void released.push(url),
  };
  await withHarness(stubWork(0, ended), async (harness) => {
    for await (const lease of harness.work({ once: true })) assert.fail(lease.task.id);
    assert.deepEqual(released, ['/api/v1/claims/claim-7:release']);
  });
});

test('of two clocks that disagree the one counts by which more time has passed', () => {
  let [monotonicMs, wallMs] = [50_000, 1_700_000_000_000];
  const mocks = [mock.method(performance, 'now', () => monotonicMs), mock.method(Date, 'now', () => wallMs)];
  try {
    const clock = new LeaseClock(30_000);
    monotonicMs += 10_000;
    wallMs += 10_000;
    assert.equal(clock.leftMs(), 20_000);
    // When the wall clock is set back by an hour, the monotonic clock is used.
    wallMs -= 3_600_000;
    assert.equal(clock.leftMs(), 20_000);
    monotonicMs += 20_000;
    assert.equal(clock.leftMs(), 0);
    clock.restart(LeaseClock.now());
    // While the machine was asleep, only the wall clock advanced.
    wallMs += 30_000;
    assert.equal(clock.leftMs(), 0);
    clock.restart(LeaseClock.now());
    wallMs += 86_400_000;
    assert.ok(clock.leftMs() < 0);
  } finally {
    for (const { mock: own } of mocks) own.restore();
  }
});
