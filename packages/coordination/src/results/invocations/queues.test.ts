import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { type Actor, startCoordination, type TestCoordination } from '../../testing/coordination.ts';
import { done, makeTask } from '../../testing/leases.ts';
import { makeNarrowPerson } from '../../testing/organisation/workspaces.ts';
import { invoke, makeCallable } from '../../testing/results/invocations.ts';
import { pagesReadBy } from '../../testing/work/pages-read.ts';
import { lockNextPending, lockNextVisiblePending } from './claim-invocation.sql.ts';

/**
 * Tests that a queue for other executors costs a claim one lookup, regardless of its length (see
 * docs/reference/skills.md#executors): 100,000 calls read no additional page.
 */
const foreignCalls = byDepth(8000, 40_000);
/**
 * Buffers for the steps from queue to queue, and for the few calls at the head of the executor's own queue; four queues
 * read 40.
 */
const pagesMax = 120;

let baton: TestCoordination;
let executor: Actor;
before(async () => {
  baton = await startCoordination({ CP_SKILL_INVOCATIONS_PENDING_MAX: '1000000' });
  executor = await baton.actor();
});
after(() => baton.close());

const http = (origin: string, auth: object | null = null) =>
  makeCallable(baton.admin, {
    implementation: { protocol: 'http', endpoint: `${origin}/call`, entrypoint: null, auth },
  });

/** Inserts the given number of copies of a call, requested before it. */
const copyOf = ({ id }: { id: string }, count: number) =>
  baton.pool.run(sql`
    insert into skill_invocations (id, tenant_id, skill_id, requested_by_kind, requested_by_ref, authority_principal_id,
      credential, inputs, task_id, workspace_id, max_attempts, timeout_seconds, backoff_seconds, protocol, target, audience,
      available_at)
    select gen_random_uuid(), tenant_id, skill_id, requested_by_kind, requested_by_ref, authority_principal_id, credential,
      inputs, task_id, workspace_id, max_attempts, timeout_seconds, backoff_seconds, protocol, target, audience,
      available_at - make_interval(secs => n)
    from skill_invocations cross join generate_series(1, ${count}) n where id = ${id}`);

test('calls of other protocols, origins and audiences, and those that await a retry, slow down no claim', async () => {
  const own = { audience: 'own' };
  const [mine, elsewhere, foreign, mcp] = await Promise.all([
    http('https://own.example.com', own),
    http('https://a.example.com'),
    http('https://own.example.com', { audience: 'foreign' }),
    makeCallable(baton.admin, { implementation: { protocol: 'mcp', entrypoint: 'search' } }),
  ]);
  for (const skill of [elsewhere, foreign, mcp])
    await copyOf(await done(invoke(baton.admin, skill), 201), foreignCalls / 4);
  // Calls in the executor's own queue that are due later.
  const later = await done(invoke(baton.admin, mine), 201);
  await baton.pool.run(sql`
    update skill_invocations set available_at = available_at + interval '1 day' where id = ${later.id}`);
  await copyOf(later, foreignCalls / 4);
  const wanted = await done(invoke(baton.admin, mine), 201);
  await baton.pool.run(sql`analyze skill_invocations`);
  const asked = { protocols: ['http'], httpOrigins: ['https://own.example.com'], audiences: ['own'] };
  const reach = {
    ...asked,
    principalId: executor.principalId,
    localEntrypoints: null,
    mcpEndpoints: null,
    invocationId: null,
  };
  const pages = await pagesReadBy(baton.pool, lockNextPending(baton.tenantId, reach));
  assert.ok(pages <= pagesMax, `${pages} pages`);
  const { invocation } = await done(executor.post('/skill-invocations:claim', asked));
  assert.equal(invocation.id, wanted.id);
  assert.equal((await executor.post('/skill-invocations:claim', asked)).status, 204);
  // A different tenant, which has no rows of its own, doesn't read any of them either.
  const others = await pagesReadBy(
    baton.pool,
    lockNextPending(baton.otherTenantId, { ...reach, httpOrigins: null, audiences: null }),
  );
  assert.ok(others <= pagesMax, `${others} pages`);
});

test('calls of hidden workspaces slow down no claim of a person with limited visibility', async () => {
  const { person, mine, other } = await makeNarrowPerson(baton);
  const skill = await http('https://sight.example.com');
  const callIn = async (workspaceId: string) =>
    done(invoke(baton.admin, skill, { taskId: (await makeTask(baton, { workspaceId })).id }), 201);
  await copyOf(await callIn(other.id), foreignCalls);
  const wanted = await callIn(mine.id);
  await baton.pool.run(sql`analyze skill_invocations`);
  const asked = { protocols: ['http'], httpOrigins: ['https://sight.example.com'] };
  const none = { audiences: null, localEntrypoints: null, mcpEndpoints: null, invocationId: null };
  const reach = { ...asked, ...none, principalId: person.principalId };
  const statement = lockNextVisiblePending(baton.tenantId, reach, person.principalId);
  const pages = await pagesReadBy(baton.pool, statement);
  assert.ok(pages <= pagesMax, `${pages} pages`);
  assert.equal((await done(person.post('/skill-invocations:claim', asked))).invocation.id, wanted.id);
  assert.equal((await person.post('/skill-invocations:claim', asked)).status, 204);
});
