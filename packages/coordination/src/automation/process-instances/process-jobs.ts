import type { Job, JobTools } from '../../service/job.ts';
import { createDueJob } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { createTurnJob } from '../journal-turns/turn-job.ts';
import { processConsumer } from '../process-triggers/triggers.ts';
import { takeFromSource } from './advancing.ts';
import { toolsFor, useDefinition } from './definitions-in-use.ts';
import {
  type DueTimerRow,
  findDueTimers,
  findInstance,
  lockFreeInstance,
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
