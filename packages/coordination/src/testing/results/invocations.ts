import { sql } from '@baton/kernel/database/sql';
import { requeueExpiredCalls } from '../../results/invocations/expired-leases.ts';
import { withdrawCalls } from '../../results/invocations/withdraw-calls.ts';
import type { Actor, TestCoordination } from '../coordination.ts';
import { done } from '../leases.ts';
import { makeWorkerTools } from '../sweepers.ts';

let number = 0;

/** A contract of a local skill, with a unique entry point so that tests share no queue. */
export const contractOf = (more: object = {}, implementation: object = {}) => ({
  inputs: { type: 'object' },
  outputs: { type: 'object' },
  implementation: { protocol: 'local', entrypoint: `skills.test:f${(number += 1)}`, ...implementation },
  ...more,
});

/** A skill that can be invoked. */
export function makeCallable(
  actor: Actor,
  {
    contract = {},
    implementation = {},
    ...more
  }: { contract?: object; implementation?: object; [field: string]: unknown } = {},
) {
  const facts = { sideEffects: 'none', riskLevel: 'low', contract: contractOf(contract, implementation) };
  return done(actor.post('/skills', { name: `callable ${crypto.randomUUID()}`, ...facts, ...more }), 201);
}

export const invoke = (actor: Actor, skill: { id: string }, body: object = {}) =>
  actor.post(`/skills/${skill.id}:invoke`, body);

/** The claim request of an executor for one local skill. */
export const reachOf = (skill: { contract: { implementation: { entrypoint: string } } }) => ({
  protocols: ['local'],
  localEntrypoints: [skill.contract.implementation.entrypoint],
});

export const claimCall = (actor: Actor, skill: Parameters<typeof reachOf>[0], more: object = {}) =>
  actor.post('/skill-invocations:claim', { ...reachOf(skill), ...more });

/** An invocation that the executor has claimed. */
export async function runningCall(
  executor: Actor,
  caller: Actor,
  skill: Parameters<typeof reachOf>[0] & { id: string },
  body: object = {},
) {
  await done(invoke(caller, skill, body), 201);
  return (await done(claimCall(executor, skill))).invocation;
}

/** Lets the lease of an invocation expire. */
export async function endCallLease(baton: TestCoordination, id: string): Promise<void> {
  await baton.pool.run(sql`
    update skill_invocations set lease_expires_at = clock_timestamp() - interval '1 ms'
    where id = ${id} and status = 'running'`);
}

/** A worker that handles invocations on a test's request. */
export function makeCallWorker(baton: TestCoordination) {
  const { tools, close } = makeWorkerTools(baton);
  const [lapsing, withdrawing] = [requeueExpiredCalls(tools), withdrawCalls(tools)];
  return { close, lapse: () => lapsing.run(), withdraw: () => withdrawing.run() };
}
