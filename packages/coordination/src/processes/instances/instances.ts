import { sqlState } from '@baton/kernel/database/db';
import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import type { Input } from '@baton/process-engine/engine/inputs';
import { migrationFailed } from '@baton/process-engine/engine/state';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import { enterWorkspace } from '../../organisation/workspaces/workspaces.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { requireSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { getDefinitionRow } from '../definitions/definitions.ts';
import { fail } from '../errors.ts';
import { requireData } from './child-instances.ts';
import { missedTargetOf, toolsFor, useDefinition } from './definitions-in-use.ts';
import {
  type InstanceRequest,
  type InstanceRow,
  instanceOf,
  instanceStatuses,
  journalEntryOf,
  journalKinds,
  type ProcessInstance,
  type ShownRow,
} from './instance.ts';
import {
  findEntries,
  findInstance,
  findOpenOfKey,
  listOfInstances,
  lockInstance,
  readClock,
} from './instances.sql.ts';
import { agentOf, Identities } from './people/identity.ts';
import { startInstance } from './start-instance.ts';
import { migrateInstance, type Running, recordSkippedInputs, takeOrStore } from './take-input.ts';

/** How long a start waits for a concurrent start with the same key. */
const busyMsMax = 2000;

/**
 * Starts an instance of the newest version of a definition (docs/reference/processes.md#instances).
 * @throws Refusal `not_found`, `workspace_archived`, `process_retired`, `invalid_process_data`,
 * `process_instance_exists`, `process_definition_unusable`, `catalog_key_busy`
 */
export async function createInstance(context: Context, request: InstanceRequest): Promise<ProcessInstance> {
  const { process: key, key: instanceKey, data, workspaceId } = request;
  const { version, status } = await getDefinitionRow(context, key, null);
  const use = await useDefinition(context, key, version);
  if (workspaceId != null) await enterWorkspace(context, workspaceId);
  await requireMayFile(context, 'processes.operate', workspaceId ?? use.row.workspace_id);
  if (status === 'retired') fail('process_retired', { process: key });
  const checked = requireData(use.schema, data);
  const open = await context.db.row(findOpenOfKey(context.tenantId, key, instanceKey));
  if (open !== undefined) fail('process_instance_exists', { instanceId: open.id });
  const identities = await Identities.lock(context, [use.row.identity_agent]);
  const agent = await identities.of(use.row.identity_agent, workspaceId ?? use.row.workspace_id);
  if (agent === undefined)
    fail('process_definition_unusable', { process: key, agent: use.row.identity_agent });
  const start = {
    id: newId(),
    definitionKey: key,
    version,
    instanceKey,
    workspaceId,
    data: checked,
    agent,
    event: null,
  };
  const row = await startInstance(context, start, busyMsMax).catch((error: unknown) => {
    if (sqlState(error) === '55P03') fail('catalog_key_busy', { process: key, key: instanceKey });
    throw error;
  });
  if (row !== undefined) return shown(context, row);
  const rival = await context.db.row(findOpenOfKey(context.tenantId, key, instanceKey));
  return fail('process_instance_exists', { instanceId: rival?.id ?? null });
}

/** @throws Refusal `not_found` */
export async function getInstance(context: Context, id: string): Promise<ProcessInstance> {
  return instanceOf(await getInstanceRow(context, id));
}

async function getInstanceRow(context: Context, id: string): Promise<ShownRow> {
  const refusal = { processInstanceId: id };
  const row = (await context.db.row(findInstance(context.tenantId, id))) ?? fail('not_found', refusal);
  await requireSight(context, row.workspace_id, refusal);
  return row;
}

async function shown({ db }: Context, row: InstanceRow): Promise<ProcessInstance> {
  const { now } = (await db.row(readClock())) as { now: string };
  return instanceOf({ ...row, now });
}

export interface InstanceQuery {
  readonly definitionKey?: string | undefined;
  readonly instanceKey?: string | undefined;
  readonly status?: string | undefined;
  readonly workspaceId?: string | undefined;
  readonly slaState?: string | undefined;
}

/** @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listInstances(
  context: Context,
  query: InstanceQuery,
  page: Page,
): Promise<ItemPage<ProcessInstance>> {
  const { definitionKey, instanceKey, status, workspaceId, slaState } = query;
  if (status !== undefined && !instanceStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: instanceStatuses });
  const { db, tenantId } = context;
  const filter = {
    definition_key: definitionKey,
    instance_key: instanceKey,
    status,
    workspace_id: workspaceId,
    sla_state: slaState,
  };
  const { now } = (await db.row(readClock())) as { now: string };
  const list = listOfInstances(tenantId, filter);
  return listSeen(db, await viewerOf(context), list, page, (row) => instanceOf({ ...row, now }));
}

/** The journal of an instance, oldest first. @throws Refusal `not_found`, `invalid_cursor` */
export async function listInstanceJournal(
  context: Context,
  id: string,
  kind: (typeof journalKinds)[number] | undefined,
  page: Page,
) {
  await getInstanceRow(context, id);
  return listPage(context.db, findEntries(context.tenantId, id, kind, page), journalEntryOf);
}

type InputAt = (at: string) => Input;

/** @throws Refusal `not_found`, `invalid_process_instance_state` */
export async function suspendInstance(context: Context, id: string, given: string): Promise<ProcessInstance> {
  const running = await lockRunning(context, id);
  if (running.row.status !== 'running') refuseState(running.row);
  const reason = eventText(given);
  return act(context, running, (at) => ({ kind: 'suspend', at, reason, cause: 'operator' }));
}

/**
 * Retries the input or migration that failed, and processes pending inputs.
 * @throws Refusal as `suspendInstance`
 */
export async function resumeInstance(
  context: Context,
  id: string,
  reason: string | null,
): Promise<ProcessInstance> {
  const seen = await getInstanceRow(context, id);
  const target = await missedTargetOf(context, seen);
  const identities = await Identities.lock(
    context,
    target === undefined ? [seen.identity_agent] : [seen.identity_agent, target.agentKey],
  );
  const row = (await context.db.row(lockInstance(context.tenantId, id))) as InstanceRow;
  if (row.status !== 'suspended') refuseState(row);
  const isWaiting = row.state.parked?.code === migrationFailed;
  // A concurrent call has changed the instance; a retry by the caller shows its new state.
  if (isWaiting !== (target !== undefined) || row.definition_version !== seen.definition_version)
    refuseState(row);
  let now = row;
  if (target !== undefined) {
    const agent = await identities.of(target.agentKey, row.workspace_id);
    now = await migrateInstance(context, row, target, agent);
  }
  if (now.state.parked?.code === migrationFailed) return shown(context, now);
  const running = await runningOf(context, now, identities);
  return goOn(context, running, (at) => ({ kind: 'resume', at, reason }));
}

/** Skips the step that failed. @throws Refusal as `suspendInstance` */
export async function skipElement(
  context: Context,
  id: string,
  element: string,
  given: string,
): Promise<ProcessInstance> {
  const running = await lockRunning(context, id);
  const { status, state } = running.row;
  if (status !== 'suspended' || state.parked === null || state.parked.element !== element)
    refuseState(running.row);
  const reason = eventText(given);
  return goOn(context, running, (at) => ({ kind: 'skip', at, element, reason }));
}

/** Cancels the instance. It is compensated first, unless the caller opts out. @throws Refusal as `suspendInstance` */
export async function cancelInstance(
  context: Context,
  id: string,
  given: string,
  compensate: boolean,
): Promise<ProcessInstance> {
  const running = await lockRunning(context, id);
  const { status } = running.row;
  if (status !== 'running' && status !== 'suspended') refuseState(running.row);
  const reason = eventText(given);
  return act(context, running, (at) => ({ kind: 'cancel', at, reason, compensate }));
}

function refuseState({ id, status }: InstanceRow): never {
  return fail('invalid_process_instance_state', { processInstanceId: id, status });
}

async function act(context: Context, running: Running, inputAt: InputAt): Promise<ProcessInstance> {
  const { now } = (await context.db.row(readClock())) as { now: string };
  return shown(context, await takeOrStore(context, running, inputAt(now), null));
}

/** Schedules the instance for the worker, which processes the pending inputs. */
async function goOn(context: Context, running: Running, inputAt: InputAt): Promise<ProcessInstance> {
  const { now } = (await context.db.row(readClock())) as { now: string };
  const row = await takeOrStore(context, running, inputAt(now), null);
  return shown(context, await recordSkippedInputs(context, row, now));
}

/** The locked instance, and the agent that it acts as, which is locked before it. */
async function lockRunning(context: Context, id: string): Promise<Running> {
  const seen = await getInstanceRow(context, id);
  const identities = await Identities.lock(context, [seen.identity_agent]);
  const row = (await context.db.row(lockInstance(context.tenantId, id))) as InstanceRow;
  return runningOf(context, row, identities);
}

async function runningOf(context: Context, row: InstanceRow, identities: Identities): Promise<Running> {
  const use = await useDefinition(context, row.definition_key, row.definition_version);
  const tools = await toolsFor(context, use);
  const agent = await agentOf(context, identities, row);
  return { row, definition: use.definition, tools, agent };
}
