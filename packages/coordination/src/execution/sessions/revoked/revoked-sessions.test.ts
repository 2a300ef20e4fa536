import assert from 'node:assert/strict';
import { after, afterEach, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { raceRounds } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import { revocationHash } from '../../../access/access-tokens/revocations.ts';
import { endRevokedSessions } from '../../../app/revoked-sessions.ts';
import type { Job } from '../../../service/job.ts';
import {
  type Actor,
  type Answer,
  startCoordination,
  type TestCoordination,
} from '../../../testing/coordination.ts';
import { checkLeaseInvariants } from '../../../testing/execution/lease-invariants.ts';
import {
  claimTask,
  done,
  eventsOf,
  makeTask,
  makeWorker,
  openSession,
  refused,
} from '../../../testing/leases.ts';
import { startProcess } from '../../../testing/programs/service-processes.ts';
import { finishAllEndings, makeWorkerTools } from '../../../testing/sweepers.ts';
import { until } from '../../../testing/wait-until.ts';
import { findRevokedKeys, findRevokedSessions } from './revoked-sessions.sql.ts';

let baton: TestCoordination;
const revoked = new Set<string>();
let isDelivered = false;

before(async () => {
  baton = await startCoordination({ CP_LEGACY_API_KEYS_ENABLED: 'true' });
  publish();
});
afterEach(async () => {
  // After a worker has delivered events, the outbox has no rows for them.
  if (!isDelivered) await checkLeaseInvariants(baton);
});
after(() => baton.close());

function publish(): void {
  const entries = [...revoked].map((id) => ({ sha256: revocationHash(id), not_before: null }));
  baton.issuer.revoke({ not_before: 0, revoked: entries });
}

function revoke(...ids: string[]): void {
  for (const id of ids) revoked.add(id);
  publish();
}

/** An actor's calls with an access token of one credential; another credential of the same identity by default. */
async function withCredential(actor: Actor, claims: object = {}): Promise<Actor & { credentialId: string }> {
  const credentialId = newId();
  const token = await baton.issuer.sign({
    sub: actor.iamPrincipalId,
    tenant_id: actor.tenantId,
    scope: ['control-plane:read', 'control-plane:write', 'control-plane:admin'],
    credential_id: credentialId,
    ...claims,
  });
  return { ...callsWith(actor, token), credentialId };
}

function callsWith(actor: Actor, token: string): Actor {
  const call = (method: string, path: string, body?: unknown, headers = {}) =>
    baton.request(method, `/api/v1${path}`, { token, headers, ...(body !== undefined && { body }) });
  return {
    ...actor,
    token,
    get: (path, headers) => call('GET', path, undefined, headers),
    post: (path, body, headers) => call('POST', path, body, headers),
  };
}

const stateOf = async (sessionId: string): Promise<string> =>
  (await done(baton.admin.get(`/sessions/${sessionId}`))).status;
const untilClosed = (sessionId: string) =>
  until(async () => (await stateOf(sessionId)) === 'closed', 'the end of the session');

async function withWorker(run: (job: Job) => Promise<void>): Promise<void> {
  const { tools, close } = makeWorkerTools(baton);
  const job = endRevokedSessions(tools);
  try {
    await run(job);
  } finally {
    await job.close?.();
    await close();
  }
}

async function runningIn(actor: Actor, sessionId: string) {
  const task = await makeTask(baton);
  const claim = await claimTask({ actor, sessionId }, task.id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const run = await done(actor.post(`/tasks/${task.id}:start-run`, keys), 201);
  return { task, claim, run, keys };
}

test('a revoked credential loses its session, its claims and its writes; another agent takes the task over', async () => {
  const agent = await withCredential(await baton.actor());
  const sessionId = await openSession(agent);
  const { task, claim, run, keys } = await runningIn(agent, sessionId);
  const before = await done(baton.admin.get(`/tasks/${task.id}`));
  revoke(agent.credentialId);
  await untilClosed(sessionId);

  const events = await eventsOf(baton, sessionId, claim.id);
  assert.deepEqual(
    events.map(({ type, actor_id: actorId }) => [type, actorId]),
    [
      ['session.opened', agent.principalId],
      ['claim.released', null],
      ['session.closed', null],
    ],
  );
  assert.equal(events[1]?.payload.reason, 'session_closed');
  assert.deepEqual(events[2]?.payload, { releasedClaims: 1 });
  const released = await done(baton.admin.get(`/claims/${claim.id}`));
  assert.deepEqual([released.status, released.releaseReason], ['released', 'session_closed']);
  const freed = await done(baton.admin.get(`/tasks/${task.id}`));
  assert.deepEqual([freed.status, freed.activeClaimId, freed.version], ['todo', null, before.version + 1]);

  // The principal itself stays active: with another credential it can open a session, but not write under the old
  // claim.
  const again = await withCredential(agent);
  await refused(again.post(`/sessions/${sessionId}:heartbeat`), 409, 'session_not_active');
  await refused(again.post(`/runs/${run.id}:succeed`), 409, 'stale_claim');
  await refused(
    again.post(`/tasks/${task.id}:complete`, keys, { 'if-match': `task-${freed.version}` }),
    409,
    'stale_claim',
  );
  // As after any close, the run ends when the next holder starts its own.
  const next = await makeWorker(baton);
  const taken = await claimTask(next, task.id);
  const body = { claimId: taken.id, fencingToken: taken.fencingToken };
  const second = await done(next.actor.post(`/tasks/${task.id}:start-run`, body), 201);
  assert.equal(second.attempt, 2);
  const [, failed] = await eventsOf(baton, run.id);
  assert.deepEqual([failed?.type, failed?.payload.reason], ['run.failed', 'superseded']);
});

test('a disabled principal or identity provider at identity ends the sessions; a disabled tenant and a time do not', async () => {
  const opened = async () => {
    const agent = await withCredential(await baton.actor(), { client_id: `idp:${newId()}` });
    return { agent, sessionId: await openSession(agent) };
  };
  const [ofPrincipal, ofTime] = [await opened(), await opened()];
  const provider = newId();
  const person = await withCredential(await baton.actor(), { client_id: `idp:${provider}` });
  const ofProvider = await openSession(person);
  const entry = (id: string, notBefore: number | null = null) => ({
    sha256: revocationHash(id),
    not_before: notBefore,
  });
  baton.issuer.revoke({
    not_before: 0,
    revoked: [
      entry(ofPrincipal.agent.iamPrincipalId),
      entry(`${baton.tenantId} idp:${provider}`),
      entry(ofTime.agent.credentialId, Math.floor(Date.now() / 1000) + 3600),
      entry(newId()),
    ],
  });
  await untilClosedInDatabase(ofPrincipal.sessionId, ofProvider);
  await withWorker(async (job) => assert.equal(await job.run(), 0));
  baton.issuer.revoke({ not_before: 0, revoked: [entry(baton.tenantId)] });
  await withWorker(async (job) => assert.equal(await job.run(), 0));
  publish();
  await until(
    async () => (await baton.admin.get('/sessions?limit=1')).status === 200,
    'the end of the entries',
  );
  assert.equal(await stateOf(ofTime.sessionId), 'active');
});

/** Reads the database instead of sending a request, because the list may reject the administrator's token. */
async function untilClosedInDatabase(...ids: string[]): Promise<void> {
  await until(() => areClosedInDatabase(ids), 'the end of the sessions');
}

async function areClosedInDatabase(ids: readonly string[]): Promise<boolean> {
  const left = sql`select id from sessions where id = any (${ids}::uuid[]) and status <> 'closed' limit 1`;
  return (await baton.pool.row(left)) === undefined;
}

test('the credential that renewed a session last decides, unless somebody else renewed it', async () => {
  const actor = await baton.actor();
  const [first, second] = [await withCredential(actor), await withCredential(actor)];
  const [kept, left] = [await openSession(first), await openSession(first)];
  const renewed = await done(second.post(`/sessions/${kept}:heartbeat`));
  assert.ok(!('revocableBy' in renewed));
  await done(baton.admin.post(`/sessions/${left}:heartbeat`));
  revoke(first.credentialId);
  await untilClosed(left);
  await withWorker(async (job) => assert.equal(await job.run(), 0));
  assert.equal(await stateOf(kept), 'active');
  await done(second.post(`/sessions/${kept}:heartbeat`));
  revoke(second.credentialId);
  await untilClosed(kept);
});

test('a revoked API key or binding of coordination ends its sessions, and no others', async () => {
  const [owner, other] = [await baton.actor(), await baton.actor()];
  const key = await done(
    baton.admin.post(`/principals/${owner.principalId}/api-keys`, {
      permissions: ['sessions.open', 'tasks.read'],
    }),
    201,
  );
  const byKey = await openSession(callsWith(owner, key.key));
  const byBinding = await openSession(owner);
  const ofOther = await openSession(other);
  const { items } = await done(baton.admin.get(`/principals/${owner.principalId}/iam-bindings`));
  await withWorker(async (job) => {
    await done(baton.admin.post(`/api-keys/${key.id}:revoke`));
    await until(async () => (await job.run()) === 0, 'the end of the round');
    assert.deepEqual([await stateOf(byKey), await stateOf(byBinding)], ['closed', 'active']);
    await done(baton.admin.post(`/iam-bindings/${items[0].id}:revoke`));
    await until(async () => (await job.run()) === 0, 'the end of the round');
  });
  assert.deepEqual([await stateOf(byBinding), await stateOf(ofOther)], ['closed', 'active']);
});

test('the sessions of a disabled principal are left to its ending', async () => {
  const agent = await baton.actor();
  const sessionId = await openSession(agent);
  const { run } = await runningIn(agent, sessionId);
  // A command that uses the session keeps it open beyond the response.
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select pg_advisory_xact_lock_shared(session_lock(${sessionId}))`);
    await done(baton.admin.post(`/principals/${agent.principalId}:disable`));
  });
  await withWorker(async (job) => assert.equal(await job.run(), 0));
  await finishAllEndings(baton);
  const closed = (await eventsOf(baton, sessionId)).at(-1);
  assert.deepEqual(closed?.payload.reason, 'principal_disabled');
  assert.equal((await done(baton.admin.get(`/runs/${run.id}`))).status, 'failed');
});

const outcomeOf = ({ status, body }: Answer): string => (status < 300 ? 'ok' : body.error.code);

test('a completion or heartbeat at the instant of the revocation happens under a live claim or not at all', async () => {
  const seen = new Set<string>();
  const actor = await baton.actor();
  await withWorker(async (job) => {
    for (let round = 0; round < raceRounds; round += 1) {
      const agent = await withCredential(actor);
      const sessionId = await openSession(agent);
      const { task, claim, run } = await runningIn(agent, sessionId);
      if (round > 0) revoke(agent.credentialId);
      if (round === 1) await untilClosed(sessionId);
      // The first rounds fix the order, so that both outcomes occur on any machine. The token itself may be rejected,
      // too.
      const succeeding = (round === 1 ? await withCredential(actor) : agent).post(`/runs/${run.id}:succeed`);
      if (round === 0) {
        await succeeding;
        revoke(agent.credentialId);
      }
      const [succeed, ...beats] = await Promise.all([
        succeeding,
        agent.post(`/claims/${claim.id}:heartbeat`),
        agent.post(`/sessions/${sessionId}:heartbeat`),
        job.run().then(() => undefined),
      ]);
      for (const beat of beats)
        if (beat !== undefined)
          assert.ok(
            ['ok', 'invalid_credentials', 'claim_not_active', 'session_not_active'].includes(outcomeOf(beat)),
            outcomeOf(beat),
          );
      assert.ok(
        ['ok', 'stale_claim', 'invalid_credentials'].includes(outcomeOf(succeed)),
        outcomeOf(succeed),
      );
      await untilClosed(sessionId);
      const { systemStatusCategory, activeClaimId } = await done(baton.admin.get(`/tasks/${task.id}`));
      assert.equal(systemStatusCategory === 'terminal_success', succeed.status === 200);
      assert.equal(activeClaimId, null);
      seen.add(outcomeOf(succeed));
    }
  });
  assert.ok(seen.has('ok') && seen.has('stale_claim'), [...seen].join());
});

/** Sessions of one credential, each with a claim, more than fit in one batch. */
async function openMany(actor: Actor, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let opened = 0; opened < count; opened += 10)
    ids.push(...(await Promise.all(Array.from({ length: 10 }, () => openSession(actor)))));
  for (const sessionId of ids.slice(0, 20)) await claimTask({ actor, sessionId }, (await makeTask(baton)).id);
  return ids;
}

async function assertEndedOnce(ids: readonly string[]): Promise<void> {
  const rows = await baton.pool.rows<{ type: string; n: number }>(sql`
    select type, count(*)::int as n from events where session_id = any (${ids}::uuid[])
      and type in ('session.closed', 'claim.released') group by type order by type`);
  assert.deepEqual(rows, [
    { type: 'claim.released', n: 20 },
    { type: 'session.closed', n: ids.length },
  ]);
}

test('several processes and workers at once end each session once', async () => {
  const agent = await withCredential(await baton.actor());
  const ids = await openMany(agent, 120);
  const others = await Promise.all([baton.another(), baton.another()]);
  for (const { url } of others)
    await fetch(`${url}/api/v1/tasks?limit=1`, { headers: { authorization: `Bearer ${agent.token}` } });
  await withWorker((first) =>
    withWorker(async (second) => {
      await Promise.all([first.run(), second.run()]);
      revoke(agent.credentialId);
      const ending = untilClosedInDatabase(...ids);
      await Promise.all([ending, first.run(), second.run()]);
    }),
  );
  await assertEndedOnce(ids);
  for (const { close } of others) await close();
});

test('what a killed process and a session in use left is ended by the worker', async () => {
  // Neither this process nor the killed one ends all of the sessions.
  const agent = await withCredential(await baton.actor());
  const ids = await openMany(agent, 120);
  const used = ids[119] as string;
  const victim = await startProcess('serve', baton.env);
  await baton.pool.transaction(async (tx) => {
    await tx.run(sql`select pg_advisory_xact_lock_shared(session_lock(${used}))`);
    revoke(agent.credentialId);
    await fetch(`${victim.url}/api/v1/tasks?limit=1`, {
      headers: { authorization: `Bearer ${agent.token}` },
    });
    await untilClosedInDatabase(ids[0] as string);
    await victim.stop('SIGKILL');
    // The killed process may have had a session locked, which this process then left to the worker.
    await withWorker((job) =>
      until(async () => {
        await job.run();
        return areClosedInDatabase(ids.slice(0, 119));
      }, 'the end of the sessions that are not in use'),
    );
  });
  assert.equal(await stateOf(used), 'active');
  await withWorker((job) => until(async () => (await job.run()) === 0 && (await stateOf(used)) === 'closed'));
  await assertEndedOnce(ids);
});

test('the searches use their indexes among 50,000 sessions and 20,000 keys', async () => {
  const { principalId } = await baton.actor();
  const undone = new Error('the rows are not kept');
  const planned = baton.pool.transaction(async (tx) => {
    await tx.run(sql`
      insert into sessions (id, tenant_id, principal_id, client_name, control_level, expires_at, revocable_by)
      select gen_random_uuid(), ${baton.tenantId}, ${principalId}, 'many', 'connected', now() + interval '1 hour',
        array[md5(n::text), md5((n / 100)::text || 'principal')] from generate_series(1, 50000) as n`);
    await tx.run(sql`
      insert into api_keys (id, tenant_id, principal_id, key_prefix, key_hash, permissions, revoked_at)
      select gen_random_uuid(), ${baton.tenantId}, ${principalId}, 'cp_many' || n, md5(n::text), '{}', now() - interval '1 day'
      from generate_series(1, 20000) as n`);
    await tx.run(sql`analyze sessions`);
    await tx.run(sql`analyze api_keys`);
    const hashes = Array.from({ length: 5000 }, () => newId());
    for (const [statement, index] of [
      [findRevokedSessions(hashes.slice(0, 3), newId(), 100), 'sessions_revocable'],
      [findRevokedSessions(hashes, newId(), 100), 'sessions_revocable'],
      [findRevokedKeys(5000), 'api_keys_revoked'],
    ] as const) {
      const plan = await tx.rows({
        ...statement,
        text: `explain (analyze, buffers, format json) ${statement.text}`,
      });
      const text = JSON.stringify(plan);
      assert.ok(text.includes(index), text.slice(0, 2000));
      assert.doesNotMatch(text, /Seq Scan[^}]*"Relation Name":\s*"(sessions|api_keys)"/);
    }
    throw undone;
  });
  await assert.rejects(planned, undone);
});

test('the process of the worker runs the job', async () => {
  const agent = await baton.actor();
  const sessionId = await openSession(agent);
  isDelivered = true;
  const worker = await startProcess('worker', baton.env);
  const { items } = await done(baton.admin.get(`/principals/${agent.principalId}/iam-bindings`));
  await done(baton.admin.post(`/iam-bindings/${items[0].id}:revoke`));
  await untilClosed(sessionId);
  await worker.stop();
});
