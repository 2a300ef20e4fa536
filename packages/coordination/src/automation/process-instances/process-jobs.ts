import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { createTurnJob } from '../journal-turns/turn-job.ts';
import { processConsumer } from '../process-triggers/triggers.ts';
import { takeFromSource, takeOrPark } from './advancing.ts';
import { toolsFor, useDefinition } from './definitions-in-use.ts';
import {
  type DueTimerRow,
  deleteOrder,
  findDueOrders,
  findDueTimers,
  findInstance,
  lockFreeInstance,
  type OrderRow,
  readClock,
} from './instances.sql.ts';
import { Identities } from './people/identity.ts';
import { takeProcessTurn } from './process-turn.ts';

const batchMax = 100;

type Tools = JobTools<Context>;

/** Has the processes of each tenant take what happened, in turns (core, section 19). */
export function runProcesses(tools: Tools): Job {
  const name = 'processes';
  return createTurnJob(tools, name, processConsumer, (tenantId) =>
    tools.command(name, tenantId, takeProcessTurn),
  );
}

/** Fires timers of instances whose time has come, each in a transaction of its own. */
export function fireProcessTimers({ pool, command, log }: Tools): Job {
  const name = 'process-timers';
  return createDueJob<DueTimerRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueTimers(after, batchMax)),
      positionOf: ({ due_at: at, id }) => [at, id],
      handle: (row) => command(name, row.tenant_id, (context) => fireTimer(context, row)),
    },
  );
}

/** @returns 1, or 0 where another process has the instance */
async function fireTimer(context: Context, timer: DueTimerRow): Promise<number> {
  const { db, tenantId } = context;
  const seen = await db.row(findInstance(tenantId, timer.instance_id));
  if (seen === undefined) return 0;
  const identities = await Identities.lock(context, [seen.identity_agent]);
  const row = await db.row(lockFreeInstance(tenantId, timer.instance_id));
  // Suspended or over since: its timers no longer count.
  if (row?.status !== 'running') return 0;
  const use = await useDefinition(context, row.definition_key, row.definition_version);
  const agent = await identities.of(row.identity_agent, row.workspace_id);
  const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
  const { now: at } = (await db.row(readClock())) as { now: string };
  const input = { kind: 'timer', at, timerId: timer.id } as const;
  const taken = await takeFromSource(context, running, input, `timer:${timer.id}:${timer.due_at}`);
  return taken === undefined ? 0 : 1;
}

/** Has called instances begin, and end when their caller does not wait for them any more (organisation, section 15.2). */
export function carryOutProcessOrders({ pool, command, log }: Tools): Job {
  const name = 'process-orders';
  return createDueJob<OrderRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findDueOrders(after, batchMax)),
      positionOf: ({ due_at: at, instance_id: id }) => [at, id],
      handle: (row) => command(name, row.tenant_id, (context) => carryOut(context, row)),
    },
  );
}

/** @returns 1, or 0 where another process has the instance */
async function carryOut(context: Context, { instance_id: id }: OrderRow): Promise<number> {
  const { db, tenantId } = context;
  const seen = await db.row(findInstance(tenantId, id));
  if (seen === undefined) return 0;
  const identities = await Identities.lock(context, [seen.identity_agent]);
  const row = await db.row(lockFreeInstance(tenantId, id));
  if (row === undefined) return 0;
  const order = await db.row(deleteOrder(tenantId, id));
  if (order === undefined || (row.status !== 'running' && row.status !== 'suspended')) return 0;
  const use = await useDefinition(context, row.definition_key, row.definition_version);
  const agent = await identities.of(row.identity_agent, row.workspace_id);
  const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
  const { now: at } = (await db.row(readClock())) as { now: string };
  if (order.act === 'begin')
    await takeFromSource(context, running, { kind: 'start', at, event: null }, 'start');
  else
    await takeOrPark(context, running, { kind: 'cancel', at, reason: callerIsOver, compensate: true }, null);
  return 1;
}

const callerIsOver = 'the step that called it is over';
