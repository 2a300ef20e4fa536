import { after } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { newId } from '@baton/values/ids';
import {
  carryOutProcessOrders,
  fireProcessTimers,
  migrateInstances,
  processDueInstances,
  runProcesses,
  sendProcessRecalls,
} from '../../processes/instances/process-jobs.ts';
import type { Permission } from '../../service/permissions.ts';
import { type Actor, startCoordination, type TestCoordination } from '../coordination.ts';
import { done, eventsOf } from '../leases.ts';
import { journalIsStable } from '../ledger/journal-writer.ts';
import { agentSpec, newIdentity, publishAgent } from '../registry/agents.ts';
import { makeWorkerTools } from '../sweepers.ts';

/** A worker that advances processes on a test's request. */
export function makeProcessWorker(
  baton: TestCoordination,
  env: Record<string, string> = {},
  logged: string[] = [],
) {
  const { tools, close } = makeWorkerTools({ ...baton, env: { ...baton.env, ...env } }, logged);
  const [turns, timers] = [runProcesses(tools), fireProcessTimers(tools)];
  const [orders, recalls] = [carryOutProcessOrders(tools), sendProcessRecalls(tools)];
  const [care, migrations] = [processDueInstances(tools), migrateInstances(tools)];
  return {
    close,
    tools,
    turns,
    timers: () => timers.run(),
    orders: () => orders.run(),
    care: () => care.run(),
    migrations: () => migrations.run(),
    recalls: () => recalls.run(),
    /** Runs turns until the journal has no new events. */
    async run() {
      for (let turn = 0; turn < 200; turn += 1) {
        await journalIsStable(baton.pool);
        const asked = (await orders.run()) + (await recalls.run()) + (await migrations.run());
        if (asked + (await turns.run()) + (await care.run()) === 0) return;
      }
      throw new Error('the processes did not come to rest');
    },
    /** Makes all timers of an instance due, and fires them. */
    async fire(instanceId: string) {
      await baton.pool.run(sql`
        update process_timers set due_at = now() - interval '1 s' where instance_id = ${instanceId}`);
      await timers.run();
    },
  };
}

/** The permissions that a process's agent needs for the steps that the engine executes. */
export const processAgentPermissions: readonly Permission[] = [
  'tasks.read',
  'tasks.write',
  'approvals.read',
  'approvals.manage',
  'skills.invoke',
  'processes.operate',
  'events.read',
  'observations.write',
  'artifacts.read',
];

/** A registry agent with its own identity, in the tenant of its creator. */
export async function makeProcessAgent(
  baton: TestCoordination,
  {
    maker = baton.admin,
    permissions = processAgentPermissions,
  }: { maker?: Actor; permissions?: readonly Permission[] } = {},
) {
  const { key } = await publishAgent(maker, agentSpec({ identity: { permissions: [...permissions] } }));
  const { principalId } = await done(maker.put(`/agents/${key}/identity`, newIdentity(baton)));
  return { key: key as string, principalId: principalId as string };
}

export const humanStep = (id: string, more: object = {}) => ({
  id,
  human: { taskType: 'task', title: `Do ${id}`, ...more },
});
export const setStep = (id: string, set: Record<string, string>) => ({ id, set });

/** A definition with one stage of these steps. */
export function specOf(agent: string, steps: object[], more: object = {}) {
  return {
    version: 1,
    displayName: 'A test',
    identity: { agent },
    data: { type: 'object', additionalProperties: true },
    start: { on: { observation: `never-${newId()}` }, key: 'event.id' },
    stages: [{ id: 'main', steps }],
    ...more,
  };
}

export async function publishProcess(actor: Actor, spec: object, key = `p-${newId()}`): Promise<string> {
  await done(actor.post('/process-definitions', { key, spec }), 201);
  return key;
}

export async function startProcessInstance(actor: Actor, process: string, data: object = {}, key = newId()) {
  return done(actor.post('/process-instances', { process, key, data }), 201);
}

/** A failed instance without a definition. @returns its id */
export async function writeInstance(
  { pool, tenantId }: Pick<TestCoordination, 'pool' | 'tenantId'>,
  workspaceId: string | null,
): Promise<string> {
  const id = newId();
  const state = { data: {}, stages: {}, nodes: {}, timers: {}, due: null, parked: null };
  await pool.run(sql`
    insert into process_instances (id, tenant_id, workspace_id, definition_key, definition_version, instance_key,
      identity_agent, status, state, started_at, completed_at)
    values (${id}, ${tenantId}, ${workspaceId}, 'none', 1, ${id}, 'none', 'failed', ${JSON.stringify(state)}, now(), now())`);
  return id;
}

/**
 * The setup of a file of tests of processes: the service, a worker and an agent, which stop at the end of the file, and
 * common operations performed as the administrator. Call it at the top of the file.
 */
export async function startProcesses() {
  const baton = await startCoordination();
  const worker = makeProcessWorker(baton);
  after(async () => {
    await worker.close();
    await baton.close();
  });
  const agent = await makeProcessAgent(baton);
  const { admin } = baton;
  const publish = (steps: object[], more: object = {}) =>
    publishProcess(admin, specOf(agent.key, steps, more));
  return {
    baton,
    worker,
    agent,
    publish,
    start: async (steps: object[], more: object = {}, data: object = {}) =>
      startProcessInstance(admin, await publish(steps, more), data),
    get: (id: string, actor: Actor = admin) => done(actor.get(`/process-instances/${id}`)),
    act: (id: string, verb: string, body: object) =>
      done(admin.post(`/process-instances/${id}:${verb}`, body)),
    complete: async (taskId: string, body: object = {}) => {
      const { version } = await done(admin.get(`/tasks/${taskId}`));
      return done(admin.post(`/tasks/${taskId}:complete`, body, { 'if-match': `task-${version}` }));
    },
    /** The payloads of an instance's events of a type, which is given without the prefix `process.`. */
    told: async (id: string, type: string) =>
      (await eventsOf(baton, id))
        .filter((event) => event.type === `process.${type}`)
        .map(({ payload }) => payload),
  };
}
