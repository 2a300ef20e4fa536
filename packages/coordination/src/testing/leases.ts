import assert from 'node:assert/strict';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import type { Actor, Answer, TestCoordination } from './coordination.ts';

/** An agent with a session: the state in which every harness starts. */
export interface Worker {
  actor: Actor;
  sessionId: string;
}

export async function makeWorker(
  baton: TestCoordination,
  options: Parameters<TestCoordination['actor']>[0] = {},
) {
  const actor = await baton.actor(options);
  return { actor, sessionId: await openSession(actor) };
}

/** A session whose lease outlasts a file of tests on a slow machine. */
export async function openSession(actor: Actor, more: object = {}): Promise<string> {
  return (await done(actor.post('/sessions', { clientName: 'test-harness', ttlSeconds: 3600, ...more }), 201))
    .id;
}

export async function makeTask(baton: TestCoordination, more: object = {}) {
  return done(baton.admin.post('/tasks', { title: 'wanted', ...more }), 201);
}

export async function claimTask({ actor, sessionId }: Worker, taskId: string, more: object = {}) {
  return done(actor.post(`/tasks/${taskId}:claim`, { sessionId, ...more }));
}

/** A run of the worker on a new task, with the task and the claim. */
export async function makeRun(
  baton: TestCoordination,
  worker: Worker,
  options: { task?: object; run?: object } = {},
) {
  const task = await makeTask(baton, options.task);
  const claim = await claimTask(worker, task.id);
  const keys = { claimId: claim.id, fencingToken: claim.fencingToken };
  const run = await done(worker.actor.post(`/tasks/${task.id}:start-run`, { ...keys, ...options.run }), 201);
  return { task, claim, run };
}

/** The body of a response that must have the given status. */
export async function done(answer: Promise<Answer>, status = 200) {
  const { status: actual, body } = await answer;
  assert.equal(actual, status, JSON.stringify(body));
  return body;
}

/** The details of a refusal that must have the given status and code. */
export async function refused(answer: Promise<Answer>, status: number, code: string) {
  const { status: actual, body } = await answer;
  assert.deepEqual([actual, body.error?.code], [status, code], JSON.stringify(body));
  return body.error.details;
}

/** Makes a session's lease expire; waiting for that would take at least ten seconds. */
export async function endSessionLease(baton: TestCoordination, sessionId: string): Promise<void> {
  await baton.pool.run(
    sql`update sessions set expires_at = now() - interval '1 second', sweep_at = now() - interval '1 second' where id = ${sessionId}`,
  );
}

/**
 * Makes the lease of a task's claim expire, now or `inMs` from now; the rows are locked in the same order as in the
 * service.
 */
export async function endClaimLease(baton: TestCoordination, taskId: string, inMs = -1000): Promise<void> {
  await baton.pool.transaction(async (tx) => {
    // A separate statement, because the next one must see a claim that was created while this one waited.
    await tx.rows(sql`select id from tasks where id = ${taskId} for no key update`);
    await tx.run(sql`
      with task as (
        update tasks set lease_expires_at = now() + make_interval(secs => ${inMs / 1000})
        where id = ${taskId} and active_claim_id is not null
        returning active_claim_id, lease_expires_at
      )
      update claims set expires_at = task.lease_expires_at, sweep_at = task.lease_expires_at from task where claims.id = task.active_claim_id`);
  });
}

export async function delegate(human: Actor, agent: Actor, baton: TestCoordination): Promise<string> {
  const id = newId();
  await baton.pool.run(sql`
    insert into delegations (id, tenant_id, human_principal_id, agent_principal_id)
    values (${id}, ${baton.tenantId}, ${human.principalId}, ${agent.principalId})`);
  return id;
}

export async function endDelegation(baton: TestCoordination, delegationId: string): Promise<void> {
  await baton.pool.run(sql`update delegations set revoked_at = now() where id = ${delegationId}`);
}

export interface WrittenEvent {
  type: string;
  schema_version: number;
  entity_id: string;
  actor_id: string | null;
  session_id: string | null;
  payload: Record<string, unknown>;
}

/** The events of these objects in the order of the journal. */
export function eventsOf(baton: TestCoordination, ...entityIds: string[]): Promise<WrittenEvent[]> {
  return baton.pool.rows<WrittenEvent>(sql`
    select type, schema_version, entity_id, actor_id, session_id, payload from events
    where entity_id = any (${entityIds}::uuid[]) order by position, sequence`);
}

/** The principal that background work of the core acts as. */
export async function corePrincipalOf({ pool, tenantId }: TestCoordination): Promise<string> {
  const row = await pool.row<{ id: string }>(sql`
    select core_principal_id as id from tenants where id = ${tenantId}`);
  return row?.id ?? '';
}
