import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import {
  type Actor,
  startCoordination,
  type TestCoordination,
} from '@baton/coordination/testing/coordination';
import { assertTookLess, byDepth, isLongProof } from '@baton/testing/depth';
import { type BatonClient, createClient, LeaseLostError } from '../index.ts';
import { fileStore } from '../node.ts';
import { fetchTransport, type Transport } from '../transport.ts';
import type { Harness } from './harness.ts';

let service: TestCoordination;
let agent: Actor;
let baton: BatonClient;
let admin: BatonClient;
let folder: string;

before(async () => {
  // Leases of two seconds, so that tests see them end.
  service = await startCoordination({ CP_CLAIM_TTL_MIN_SECONDS: '1', CP_SESSION_TTL_MIN_SECONDS: '1' });
  agent = await service.actor({ kind: 'agent' });
  baton = clientOf(agent);
  admin = clientOf(service.admin);
  folder = mkdtempSync(join(tmpdir(), 'baton-sdk-test-'));
});
after(async () => {
  rmSync(folder, { recursive: true });
  await service.close();
});

function clientOf({ token }: Actor, transport: Transport = fetchTransport, attempts = 5): BatonClient {
  const accessToken = async () => ({ accessToken: token, expiresIn: 300 });
  return createClient({
    coordinationUrl: service.url,
    identityUrl: service.url,
    credential: { accessToken },
    transport,
    attempts,
  });
}

/**
 * Creates a queue of tasks for one test. They are assigned to an agent of their own, so that the test finds no other
 * work.
 */
async function queueOf(titles: readonly string[]): Promise<string> {
  const { id } = await admin.principals.create({ kind: 'agent', displayName: 'queue' });
  for (const title of titles) await admin.tasks.create({ title, assigneeId: id });
  return id;
}

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  for (const deadline = performance.now() + 60_000; !(await isSo()); await sleep(20))
    assert.ok(performance.now() < deadline, 'it never happened');
}

const open = (options: Partial<Parameters<BatonClient['harness']['open']>[0]> = {}): Promise<Harness> =>
  baton.harness.open({ name: 'tests', leaseSeconds: 30, ...options });

test('a harness does one task after another and ends its session', async () => {
  const assigneeId = await queueOf(['first', 'second', 'third']);
  const done: string[] = [];
  const harness = await open();
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    await lease.checkpoint('started', { at: lease.task.title });
    const task = await lease.succeed({ said: 'done' });
    assert.equal(task.systemStatusCategory, 'terminal_success');
    done.push(lease.task.title);
  }
  await harness.close();
  assert.deepEqual(done, ['first', 'second', 'third']);
  assert.equal((await admin.sessions.get(harness.session.id)).status, 'closed');
});

test('of several tasks the one is taken that the program accepts, and none that another has', async () => {
  const assigneeId = await queueOf(['not this', 'this one', 'this one too', 'nor this']);
  await using harness = await open();
  await using rival = await open();
  const accepts = ({ title }: { title: string }) => title.startsWith('this');
  const taken: string[] = [];
  for await (const lease of harness.work({ filter: { assigneeId }, accepts, once: true })) {
    taken.push(lease.task.title);
    if (taken.length === 1)
      for await (const other of rival.work({ filter: { assigneeId }, accepts, once: true })) {
        taken.push(`rival: ${other.task.title}`);
        await other.succeed();
      }
    await lease.succeed();
  }
  assert.deepEqual(taken, ['this one', 'rival: this one too']);
});

test('a run is cancelled, and its task released', async () => {
  const assigneeId = await queueOf(['stop it']);
  await using harness = await open();
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    assert.ok(lease.leftMs() > 20_000 && lease.leftMs() <= 30_000);
    await lease.cancel('requested by a person');
    assert.deepEqual([lease.end, lease.leftMs()], ['cancelled', 0]);
    const run = await admin.runs.get(lease.run.id);
    assert.equal(run.status, 'cancelled');
    assert.equal((await admin.claims.get(lease.claim.id)).status, 'released');
    break;
  }
});

test('a task that a loop leaves without an end is released', async () => {
  const assigneeId = await queueOf(['left']);
  await using harness = await open();
  for await (const lease of harness.work({ filter: { assigneeId } })) {
    assert.equal(lease.isLive(), true);
    break;
  }
  const { items: claims } = await admin.claims.list({ sessionId: harness.session.id });
  assert.deepEqual(
    claims.map(({ status, releaseReason }) => [status, releaseReason]),
    [['released', 'not_finished']],
  );
  const { items: runs } = await admin.runs.list({ claimId: claims[0]?.id ?? '' });
  assert.deepEqual(
    runs.map(({ status, failureReason }) => [status, failureReason]),
    [['cancelled', null]],
  );
});

test('a lease outlives its length, because it is kept', async () => {
  const assigneeId = await queueOf(['long']);
  // On a machine that stalls, two seconds are too short.
  await using harness = await open({ leaseSeconds: byDepth(6, 2) });
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    if (isLongProof) await sleep(2_600);
    else await until(async () => (await admin.claims.get(lease.claim.id)).expiresAt > lease.claim.expiresAt);
    await lease.succeed();
    assert.equal(lease.end, 'succeeded');
  }
});

test('a lease that somebody took away aborts its signal, and refuses to write', async () => {
  const assigneeId = await queueOf(['taken']);
  await using harness = await open();
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    await admin.claims.release(lease.claim.id, { reason: 'an operator took it' });
    await assert.rejects(lease.checkpoint('late'), LeaseLostError);
    assert.ok(lease.signal.reason instanceof LeaseLostError);
    assert.equal(lease.end, 'lost');
    await assert.rejects(lease.succeed(), { code: 'lease_lost' });
    break;
  }
});

test('the heartbeat finds out that the lease was taken away', async () => {
  const assigneeId = await queueOf(['taken quietly']);
  await using harness = await open({ leaseSeconds: 6 });
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    await admin.claims.release(lease.claim.id, { reason: 'an operator took it' });
    const began = performance.now();
    await until(() => lease.signal.aborted);
    assertTookLess(began, 5_000, 'the abort');
    assert.ok(lease.signal.aborted);
    break;
  }
});

test('after a stall past the lease nothing is sent', async () => {
  const assigneeId = await queueOf(['stalled']);
  const sent: string[] = [];
  const counting = clientOf(agent, (request) => {
    sent.push(`${request.method} ${new URL(request.url).pathname}`);
    return fetchTransport(request);
  });
  await using harness = await counting.harness.open({ name: 'tests', leaseSeconds: 2 });
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    // Block this thread, so that no heartbeat runs.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 2_500);
    sent.length = 0;
    await assert.rejects(lease.succeed(), LeaseLostError);
    assert.deepEqual(sent, []);
    break;
  }
  const [task] = (await admin.tasks.list({ assigneeId })).items;
  assert.notEqual(task?.systemStatusCategory, 'terminal_success');
});

test('a heartbeat that is refused because the task is done does not turn the answer into a lost lease', async () => {
  const assigneeId = await queueOf(['done meanwhile']);
  const refused = Promise.withResolvers<void>();
  const slow = clientOf(agent, async (request) => {
    const answer = await fetchTransport(request);
    if (request.url.endsWith(':succeed')) await refused.promise;
    else if (/claims.*:heartbeat/.test(request.url) && answer.status === 409)
      setTimeout(refused.resolve, 200);
    return answer;
  });
  await using harness = await slow.harness.open({ name: 'tests', leaseSeconds: 6 });
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    const task = await lease.succeed();
    assert.deepEqual([task.systemStatusCategory, lease.end], ['terminal_success', 'succeeded']);
    assert.equal(lease.signal.aborted, false);
  }
});

test('a harness waits for work while the service is away, for longer than its calls are tried again', async () => {
  const assigneeId = await queueOf(['after the break']);
  let refusals = 0;
  const transport: Transport = (request) => {
    if (request.url.endsWith(':claim-next') && refusals++ < 4) throw new TypeError('fetch failed');
    return fetchTransport(request);
  };
  await using harness = await clientOf(agent, transport, 2).harness.open({ name: 'tests', leaseSeconds: 30 });
  for await (const lease of harness.work({ filter: { assigneeId }, idleMs: 100 })) {
    await lease.succeed();
    break;
  }
  assert.ok(refusals >= 5);
});

test('a killed program continues its work under the same claim after its restart', async (t) => {
  const assigneeId = await queueOf(['survives']);
  const store = fileStore(join(folder, 'session'));
  const killed = await open({ store });
  // Without this, the heartbeat of the first session would keep this process alive for 30 s.
  t.after(() => killed.close().catch(() => undefined));
  const iterator = killed.work({ filter: { assigneeId }, once: true });
  const { value: before } = await iterator.next();
  assert.ok(before);
  await before.checkpoint('half', { done: 1 });
  // The first process is killed: its leases are not released.
  await using harness = await open({ store });
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    assert.equal(lease.isResumed, true);
    assert.equal(lease.claim.id, before.claim.id);
    assert.equal(lease.run.id, before.run.id);
    const { checkpoints } = await lease.context();
    assert.deepEqual(
      checkpoints.map(({ kind, data }) => [kind, data]),
      [['half', { done: 1 }]],
    );
    await lease.succeed();
  }
  before.lose('the test has ended');
});

test('a run that nobody holds any more is ended when a harness opens', async () => {
  const assigneeId = await queueOf(['orphan']);
  const first = await open();
  const { value: lease } = await first.work({ filter: { assigneeId } }).next();
  assert.ok(lease);
  await admin.claims.release(lease.claim.id, { reason: 'gone' });
  await using second = await open();
  assert.ok(second);
  const run = await admin.runs.get(lease.run.id);
  assert.deepEqual([run.status, run.failureReason], ['failed', 'restart_recovery']);
  lease.lose('the test has ended');
  await first.close();
});

test('a run that requested an approval continues in a later run after the decision', async () => {
  const assigneeId = await queueOf(['risky']);
  await using harness = await open();
  let approvalId = '';
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    const { checkpoints, approvals } = await lease.context();
    if (checkpoints.length === 0) {
      await lease.checkpoint('prepared', { branch: 'fix' });
      approvalId = (
        await lease.askApproval({ comment: 'May I deploy?', assignedPrincipalId: service.admin.principalId })
      ).id;
      assert.equal(lease.end, 'suspended');
      // The task isn't offered until the approval is decided.
      assert.equal((await baton.work.listAvailable({ assigneeId })).items.length, 0);
      await admin.approvals.approve(approvalId, {});
      continue;
    }
    assert.deepEqual(approvals, []);
    assert.deepEqual(
      checkpoints.map(({ data }) => data),
      [{ branch: 'fix' }],
    );
    assert.equal((await baton.approvals.get(approvalId)).status, 'approved');
    await lease.succeed();
  }
  const [task] = (await admin.tasks.list({ assigneeId })).items;
  assert.equal(task?.systemStatusCategory, 'terminal_success');
});

test('several loops share the work', async () => {
  const titles = Array.from({ length: 12 }, (_, n) => `shared ${n}`);
  const assigneeId = await queueOf(titles);
  await using harness = await open();
  const done: string[] = [];
  await harness.workParallel(4, { filter: { assigneeId }, once: true }, async (lease) => {
    await lease.succeed();
    done.push(lease.task.title);
  });
  assert.deepEqual(done.toSorted(), titles.toSorted());
});

test('a harness without task_types.read takes nothing', async () => {
  const blind = clientOf(
    await service.actor({ kind: 'agent', permissions: ['sessions.open', 'tasks.read', 'tasks.claim'] }),
  );
  await assert.rejects(blind.harness.open({ name: 'blind' }), /task_types.read/);
});

test('one task is done where it is named, whatever else is urgent, and the loop ends after it', async () => {
  const assigneeId = await queueOf(['urgent']);
  const named = await admin.tasks.create({ title: 'named' });
  await using harness = await open();
  for (const task of [named.publicId.toLowerCase(), named.id]) {
    const taken: string[] = [];
    for await (const lease of harness.work({ filter: { assigneeId }, task })) {
      taken.push(lease.task.title);
      // The released task can be named again.
      await lease.release();
    }
    assert.deepEqual(taken, ['named']);
  }
  for await (const lease of harness.work({ task: named.id })) await lease.succeed();
  const refused = async () => {
    for await (const lease of harness.work({ task: named.id })) assert.fail(lease.task.title);
  };
  await assert.rejects(refused(), ({ code }: { code?: string }) => code === 'task_not_claimable');
});

test('a failure sets the delay of a retry, and a handler that throws fails its run', async () => {
  const assigneeId = await queueOf(['too many requests', 'broken']);
  await using harness = await open();
  for await (const lease of harness.work({ filter: { assigneeId }, once: true })) {
    await lease.fail('rate_limited: 429', undefined, { retryAfterSeconds: 7_200 });
    const { availableAt } = await admin.tasks.get(lease.task.id);
    assert.ok(availableAt !== null && Date.parse(availableAt) - Date.now() > 7_000_000, String(availableAt));
    break;
  }
  const broken = harness.workParallel(1, { filter: { assigneeId }, once: true }, async () => {
    throw new Error('broken');
  });
  await assert.rejects(broken, /broken/);
  const [run] = (await admin.runs.list({ status: 'failed', limit: 1 })).items;
  assert.equal(run?.failureReason, 'handler_failed');
});

test('a task that is assigned to somebody else is taken only if it is named', async () => {
  const { id: workspaceId } = await admin.workspaces.create({ slug: `w${Date.now()}`, name: 'Of others' });
  const { id: assigneeId } = await admin.principals.create({ kind: 'agent', displayName: 'somebody else' });
  await admin.tasks.create({ title: 'theirs', workspaceId, assigneeId });
  await using harness = await open();
  const takenWith = async (filter: NonNullable<Parameters<typeof harness.work>[0]>['filter']) => {
    const taken: string[] = [];
    for await (const lease of harness.work({ filter: { workspaceId, ...filter }, once: true })) {
      taken.push(lease.task.title);
      await lease.succeed();
    }
    return taken;
  };
  assert.deepEqual(await takenWith({}), []);
  assert.deepEqual(await takenWith({ includeAssigned: true }), ['theirs']);
});
