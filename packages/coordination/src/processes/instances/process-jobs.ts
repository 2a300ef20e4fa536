import { Refusal } from '@baton/kernel/http/refusal';
import type { Input } from '@baton/process-engine/engine/inputs';
import { correlateAgain } from '@baton/process-engine/engine/migration/recorrelate';
import { dueTimersOf } from '@baton/process-engine/engine/timers';
import { newTraceHex } from '@baton/values/ids';
import { undoOnFailure } from '../../ledger/savepoint.ts';
import { isUnavailable } from '../../rules/acts/work-item.ts';
import { createTurnJob } from '../../rules/journal-turns/turn-job.ts';
import { nobody } from '../../service/caller.ts';
import type { Job, JobTools } from '../../service/job.ts';
import { createPutOff } from '../../service/put-off.ts';
import { createDueJob, createWalk } from '../../service/queue-walk.ts';
import type { Context } from '../context.ts';
import { processConsumer } from '../triggers/triggers.ts';
import { prepareTarget, toolsFor, useDefinition } from './definitions-in-use.ts';
import { carryOutEffect } from './effects.ts';
import type { InstanceRow } from './instance.ts';
import {
  type AttendedRow,
  type DueTimerRow,
  deleteOrder,
  deleteRecall,
  findDueOrders,
  findDueTimers,
  findInstance,
  findInstancesDue,
  findKept,
  hasOfVersion,
  insertEntries,
  leaseDueRecalls,
  lockFreeInstance,
  lockFreeOfVersion,
  lockInstance,
  type NewEntry,
  type OrderRow,
  postponeRecall,
  type RecallRow,
  readClock,
  updateDueTime,
  updateToTaken,
} from './instances.sql.ts';
import { earliestOf, effectEntry, type LeftOpen, leftOpenOf, refusalEntry } from './left-open/left-open.ts';
import { linksMax } from './loops/links.ts';
import { type Asked, sendRecall } from './memory/recall-query.ts';
import {
  activeMigration,
  type DueMigrationRow,
  listDueMigrations,
  recordNoneFound,
  recordProgress,
} from './migration/migrations.ts';
import { agentOf, Identities } from './people/identity.ts';
import { takeProcessTurn } from './process-turn.ts';
import { migrateInstance, type Running, takeFromSource, takeOrStore } from './take-input.ts';

const batchMax = 100;
/** The number of timers that fire at the same time, each on its own connection. */
const timersAtOnce = 4;
/** With the worker's usual pause, timers were 2.3 s late. */
const timersPauseMs = 500;
/**
 * Maximum number of inputs that an instance processes in one transaction, and maximum duration of that transaction,
 * because readers of the journal wait for its end.
 */
const sliceMax = 20;
const sliceMsMax = 200;
/** How many unclosed objects are retried in one transaction. */
const triesMax = 20;

type Tools = JobTools<Context>;

/** Delivers events to the processes of each tenant, in turns (docs/reference/README.md#background-work). */
export function runProcesses(tools: Tools): Job {
  const name = 'processes';
  return createTurnJob(tools, name, processConsumer, (tenantId) =>
    tools.command(name, tenantId, takeProcessTurn),
  );
}

/** Fires due timers of instances, each in its own transaction, several at the same time. */
export function fireProcessTimers({ pool, command, log }: Tools): Job {
  const name = 'process-timers';
  const putOff = createPutOff(name, log);
  const walk = createWalk<DueTimerRow>(
    batchMax,
    (after) => pool.rows(findDueTimers(after, batchMax)),
    ({ due_at: at, id }) => [at, id],
  );
  const fire = (row: DueTimerRow) =>
    putOff.attempt(row.id, () => command(name, row.tenant_id, (context) => fireNextTimer(context, row)));
  return {
    name,
    batchMax,
    pauseMsMax: timersPauseMs,
    async run() {
      const due = await walk.next();
      let fired = 0;
      // The timers of one instance fire one after the other: only one transaction can hold its lock.
      const byInstance = [...Map.groupBy(due, (row) => row.instance_id).values()];
      const fireAll = async (rows: readonly DueTimerRow[]) => {
        for (const row of rows) fired += await fire(row);
      };
      for (let at = 0; at < byInstance.length; at += timersAtOnce)
        await Promise.all(byInstance.slice(at, at + timersAtOnce).map(fireAll));
      return walk.handledOf(due, fired);
    },
  };
}

/**
 * Fires the next due timer of an instance. Each due row fires one timer; if several are due, their purposes decide
 * which one fires first.
 * @returns 1, or 0 if another process has locked the instance
 */
async function fireNextTimer(context: Context, { instance_id: id }: DueTimerRow): Promise<number> {
  const { db, tenantId } = context;
  const seen = await db.row(findInstance(tenantId, id));
  if (seen === undefined) return 0;
  const identities = await Identities.lock(context, [seen.identity_agent]);
  const row = await db.row(lockFreeInstance(tenantId, id));
  // The instance has been suspended or has ended: its timers no longer count.
  if (row?.status !== 'running') return 0;
  const { now: at } = (await db.row(readClock())) as { now: string };
  const [timer] = dueTimersOf(row.state, at);
  if (timer === undefined) return 0;
  const use = await useDefinition(context, row.definition_key, row.definition_version);
  const agent = await agentOf(context, identities, row);
  const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
  const input = { kind: 'timer', at, timerId: timer.id } as const;
  const taken = await takeFromSource(context, running, input, `timer:${timer.id}:${timer.dueAt}`);
  return taken === undefined ? 0 : 1;
}

/**
 * Starts called instances, and ends those whose caller no longer waits for them (docs/reference/processes.md#language).
 */
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

/** @returns 1, or 0 if another process has locked the instance */
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
  const agent = await agentOf(context, identities, row);
  const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
  const { now: at } = (await db.row(readClock())) as { now: string };
  if (order.act === 'begin')
    await takeFromSource(context, running, { kind: 'start', at, event: null }, 'start');
  else
    await takeOrStore(context, running, { kind: 'cancel', at, reason: callerIsOver, compensate: true }, null);
  return 1;
}

const callerIsOver = 'the step that called it has ended';

/** Processes pending inputs in order, until the instance is suspended again or has ended. */
async function takeKept(context: Context, running: Running, at: string): Promise<InstanceRow> {
  const { db, tenantId } = context;
  const untilMs = performance.now() + sliceMsMax;
  let { row } = running;
  if (row.status !== 'running' || row.kept_inputs === 0) return row;
  for (const kept of await db.rows(findKept(tenantId, row.id, sliceMax))) {
    if (row.status !== 'running' || performance.now() > untilMs) return row;
    const { source_ref: sourceRef, held } = kept;
    // If an instance was stopped as a loop, a person who resumes it accepts the loop, so the chain starts again.
    const links = kept.links > linksMax ? 0 : kept.links;
    if ((row.state.links ?? 0) > linksMax) row = { ...row, state: { ...row.state, links } };
    await db.run(updateToTaken(tenantId, row.id, sourceRef, links));
    const input = { ...(held as Input), at };
    const isOfVersion = input.kind !== 'event' || input.version === row.definition_version;
    const judged = isOfVersion ? input : correlateAgain(running, row.instance_key, input);
    row = await takeOrStore(context, { ...running, row, links }, judged, sourceRef);
  }
  return row;
}

/** Processes instances with pending inputs or unclosed objects, each in its own transaction. */
export function processDueInstances({ pool, command, log }: Tools): Job {
  const name = 'process-aftercare';
  return createDueJob<AttendedRow>(
    { name, batchMax, log },
    {
      find: (after) => pool.rows(findInstancesDue(after, batchMax)),
      positionOf: ({ attend_at: at, id }) => [at, id],
      handle: (row) => command(name, row.tenant_id, (context) => attend(context, row.id)),
    },
  );
}

/** @returns 0 if another process has locked the instance; a whole batch if more work is due */
async function attend(context: Context, id: string): Promise<number> {
  const { db, tenantId } = context;
  const seen = await db.row(findInstance(tenantId, id));
  if (seen === undefined) return 0;
  const identities = await Identities.lock(context, [seen.identity_agent]);
  const locked = await db.row(lockFreeInstance(tenantId, id));
  if (locked === undefined) return 0;
  const use = await useDefinition(context, locked.definition_key, locked.definition_version);
  const agent = await agentOf(context, identities, locked);
  const tools = await toolsFor(context, use);
  const running = { row: locked, definition: use.definition, tools, agent };
  const { now: at } = (await db.row(readClock())) as { now: string };
  const taken = await takeKept(context, running, at);
  const row = await closeLeftOpen(context, { ...running, row: taken }, at);
  const isBehind = row.status === 'running' && row.kept_inputs > 0;
  await db.run(updateDueTime(tenantId, id, row, isBehind ? at : earliestOf(row.left_open)));
  return isBehind ? batchMax : 1;
}

/** Retries the closes that are due. The caller holds the lock of the instance. */
export async function closeLeftOpen(context: Context, running: Running, at: string): Promise<InstanceRow> {
  const { row } = running;
  const entries: NewEntry[] = [];
  const left: LeftOpen[] = [];
  let tries = 0;
  for (const one of row.left_open) {
    if (one.nextAt > at || tries >= triesMax) {
      left.push(one);
      continue;
    }
    tries += 1;
    const code = await refusalOf(context, running, one.effect, at);
    if (code === undefined) entries.push(effectEntry(one.effect, at, { closed: true }));
    else left.push(leftOpenOf(one.effect, code, at, one.attempts + 1));
    if (code !== undefined && code !== one.code) entries.push(refusalEntry(one.effect, code, at));
  }
  if (tries === 0) return row;
  const { db, tenantId } = context;
  await db.run(insertEntries(tenantId, row.id, row.journal_seq, entries));
  const care = { ...row, journal_seq: row.journal_seq + entries.length, left_open: left };
  return (await db.row(updateDueTime(tenantId, row.id, care, row.attend_at))) as InstanceRow;
}

/**
 * @returns the reason for a refusal; undefined if the object was closed now or already
 */
async function refusalOf(
  context: Context,
  { agent, row }: Running,
  effect: LeftOpen['effect'],
  at: string,
): Promise<string | undefined> {
  const caller = agent ?? { ...nobody, tenantId: context.tenantId };
  const acting = { ...context, caller, correlationId: `process:${row.id}` };
  return undoOnFailure<string | undefined>(
    acting,
    async () => void (await carryOutEffect(acting, row, effect, at)),
    (error) => {
      if (!(error instanceof Refusal) || isUnavailable(error)) throw error;
      return error.code;
    },
  );
}

/** The number of concurrent memory queries: each may take seconds. */
const recallsMax = 20;
/** Maximum time between the response of the memory service and the commit of the result, on a busy machine. */
const settleSecondsMax = 30;
const waitSecondsMax = 30;

/**
 * Sends the memory queries of steps outside any transaction, and delivers the results
 * (docs/reference/processes.md#language).
 */
export function sendProcessRecalls(tools: Tools & Pick<Context, 'memory'>): Job {
  const { pool, settings, log } = tools;
  const name = 'process-recalls';
  const putOff = createPutOff(name, log);
  const traceRunId = `run_${newTraceHex()}`;
  const leaseSeconds = settings.CP_CONTEXT_TIMEOUT_SECONDS + settleSecondsMax;
  return {
    name,
    batchMax: recallsMax,
    async run() {
      const due = await pool.rows(leaseDueRecalls(recallsMax, leaseSeconds));
      const asked = due.map((row) => putOff.attempt(row.id, () => askForStep(tools, traceRunId, row)));
      await Promise.all(asked);
      return due.length;
    },
  };
}

async function askForStep(
  { pool, settings, memory, command }: Tools & Pick<Context, 'memory'>,
  traceRunId: string,
  row: RecallRow,
): Promise<number> {
  const { tenant_id: tenantId, question, namespaces, attempts } = row;
  const asked =
    memory === undefined
      ? ({ kind: 'refused', reason: 'memory_disabled' } as const)
      : await sendRecall(memory, { tenantId, settings, traceRunId }, question, namespaces);
  if (asked.kind === 'later')
    await pool.run(postponeRecall(row, Math.min(2 ** (attempts - 1), waitSecondsMax)));
  else await command('process-recalls', tenantId, (context) => takeAnswer(context, row, asked));
  return 1;
}

/** A result is delivered once, even if several workers received it: the query is deleted in the same transaction. */
async function takeAnswer(
  context: Context,
  { id: recallId, instance_id: instanceId, element }: RecallRow,
  asked: Exclude<Asked, { kind: 'later' }> | { kind: 'refused'; reason: 'memory_disabled' },
): Promise<void> {
  const { db, tenantId } = context;
  const seen = (await db.row(findInstance(tenantId, instanceId))) as InstanceRow;
  const identities = await Identities.lock(context, [seen.identity_agent]);
  const row = (await db.row(lockInstance(tenantId, instanceId))) as InstanceRow;
  if ((await db.run(deleteRecall(tenantId, recallId))) === 0) return;
  const use = await useDefinition(context, row.definition_key, row.definition_version);
  const agent = await agentOf(context, identities, row);
  const running = { row, definition: use.definition, tools: await toolsFor(context, use), agent };
  const { now: at } = (await db.row(readClock())) as { now: string };
  const head = { at, element, recallId };
  const input: Input =
    asked.kind === 'answered'
      ? { kind: 'recalled', ...head, ...asked.recalled }
      : { kind: 'recall_failed', ...head, reason: asked.reason };
  await takeFromSource(context, running, input, `memory:${recallId}`);
}

/**
 * Maximum number of instances per transaction: readers of the journal, and users of these instances, wait for its end.
 */
const migratedMax = 50;

/**
 * Migrates instances to later versions, several per transaction, each of which lasts at most 200 ms; any number of
 * workers may run it (docs/reference/processes.md#language).
 */
export function migrateInstances({ pool, command, log }: Tools): Job {
  const name = 'process-migrations';
  return createDueJob<DueMigrationRow>(
    { name, batchMax, log },
    {
      find: (after) => listDueMigrations(pool, after, batchMax),
      positionOf: ({ next_at: at, id }) => [at, id],
      handle: (row) => command(name, row.tenant_id, (context) => migrateSome(context, row.id)),
    },
  );
}

/** @returns a whole batch if more work may be due */
async function migrateSome(context: Context, id: string): Promise<number> {
  const { db, tenantId } = context;
  const migration = await activeMigration(context, id);
  if (migration === undefined) return 0;
  const target = await prepareTarget(context, migration);
  const identities = await Identities.lock(context, [target.agentKey]);
  const rows = await db.rows(lockFreeOfVersion(tenantId, migration, migratedMax));
  if (rows.length === 0) {
    // Instances that other processes have locked are retried later.
    if ((await db.row(hasOfVersion(tenantId, migration)))?.has === true) return 0;
    await recordNoneFound(context, id);
    return 1;
  }
  const untilMs = performance.now() + sliceMsMax;
  let [migrated, tried] = [0, 0];
  for (const row of rows) {
    if (tried > 0 && performance.now() > untilMs) break;
    tried += 1;
    const agent = await identities.of(target.agentKey, row.workspace_id);
    const now = await migrateInstance(context, row, target, agent);
    if (now.definition_version === migration.to_version) migrated += 1;
  }
  await recordProgress(context, id, { migrated, refused: tried - migrated });
  return batchMax;
}
