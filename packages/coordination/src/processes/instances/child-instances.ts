import { newState } from '@baton/process-engine/engine/engine';
import type { ChildEnd, Effect } from '@baton/process-engine/engine/inputs';
import type { StepError } from '@baton/process-engine/engine/state';
import type { PreparedSchema } from '@baton/values/json-schema/schema';
import type { JsonObject } from '@baton/values/wire';
import { requireMayFile } from '../../access/policy/filed-in.ts';
import type { EventRow } from '../../ledger/journal/event.ts';
import { requirePermission } from '../../rules/acts/work-item.ts';
import { checkDocument, refuseSecretKeys } from '../../service/documents.ts';
import type { Context } from '../context.ts';
import { getDefinitionRow } from '../definitions/definitions.ts';
import { fail } from '../errors.ts';
import { useDefinition } from './definitions-in-use.ts';
import type { InstanceRow } from './instance.ts';
import {
  findInstance,
  findOpenOfKey,
  hasOpenOfRoot,
  insertInstance,
  readClock,
  upsertOrder,
} from './instances.sql.ts';
import { isLinked } from './people/identity.ts';

/**
 * Instances that steps call (docs/reference/processes.md#steps): an order starts or ends each of them in a separate
 * transaction.
 */

/** The maximum number of callers above a called instance. */
const depthMax = 10;
/** The maximum number of open instances in one tree of calls. */
const openMax = 1000;
/** If the caller specifies a version, the instance keeps that version: no migration changes it. */
const lastVersion = 2_147_483_647;

type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;

/**
 * Creates the instance that a step calls, on behalf of the caller's agent, which needs processes.operate. It belongs to
 * its caller's workspace, so that only readers of the caller see its data; if the caller has none, it belongs to the
 * workspace of its definition.
 * @throws Refusal `permission_denied`, `not_found`, `process_retired`, `invalid_process_data` and those of documents,
 * `process_instance_exists`, `process_definition_unusable` (its agent can't act, or calls are nested too deeply)
 */
export async function openInstance(
  context: Context,
  parent: InstanceRow,
  { childId, process, instanceKey, data }: Of<'open_instance'>,
  links: number,
): Promise<undefined> {
  requirePermission(context, 'processes.operate');
  const { db, tenantId } = context;
  const [key = '', pinned] = process.split('@', 2);
  const { status, version } = await getDefinitionRow(
    context,
    key,
    pinned === undefined ? null : Number(pinned),
  );
  if (status === 'retired') fail('process_retired', { process: key });
  const use = await useDefinition(context, key, version);
  const checked = requireData(use.schema, data);
  const { identity_agent: agent, workspace_id: usualPlace } = use.row;
  await requireMayFile(context, 'processes.operate', parent.workspace_id ?? usualPlace);
  if (!(await isLinked(context, agent))) fail('process_definition_unusable', { process: key, agent });
  const rootId = parent.root_id ?? parent.id;
  const depth = parent.call_depth + 1;
  if (depth > depthMax) fail('process_definition_unusable', { process: key, depthMax });
  if ((await db.row(hasOpenOfRoot(tenantId, rootId, openMax)))?.has === true)
    fail('process_definition_unusable', { process: key, openMax });
  const { now } = (await db.row(readClock())) as { now: string };
  const begun = newState(use.definition, { id: childId, key: instanceKey, startedAt: now, data: checked });
  const row = await db.row(
    insertInstance({
      id: childId,
      tenant_id: tenantId,
      workspace_id: parent.workspace_id ?? usualPlace,
      definition_key: key,
      definition_version: version,
      instance_key: instanceKey,
      identity_agent: agent,
      state: { ...begun, hasBegun: false, links },
      started_at: now,
      parent_id: parent.id,
      root_id: rootId,
      call_depth: depth,
      stays_until: pinned === undefined ? 0 : lastVersion,
    }),
  );
  if (row === undefined) {
    const rival = await db.row(findOpenOfKey(tenantId, key, instanceKey));
    fail('process_instance_exists', { instanceId: rival?.id ?? null });
  }
  await db.run(upsertOrder(tenantId, childId, 'begin'));
}

/** Cancels and compensates the instance, because the step that called it has ended. */
export async function closeInstance({ db, tenantId }: Context, childId: string): Promise<undefined> {
  await db.run(upsertOrder(tenantId, childId, 'end'));
}

/** The initial data of an instance. @throws Refusal `invalid_process_data`, those of documents */
export function requireData(schema: PreparedSchema, data: unknown): JsonObject {
  checkDocument(data, { field: 'data' });
  refuseSecretKeys(data, 'data');
  const errors = schema.faultsOf(data);
  if (errors.length > 0) fail('invalid_process_data', { errors });
  return data;
}

/** Whether an event reports the end of an instance. */
export function isEnd({ type }: Pick<EventRow, 'type'>): boolean {
  return ['process.completed', 'process.failed', 'process.cancelled'].includes(type);
}

/** The result of an ended instance, for the step that called it. It never changes again. */
export async function findChildEnd(
  { db, tenantId }: Context,
  { entity_id: id, payload }: EventRow,
): Promise<ChildEnd | null> {
  const row = await db.row(findInstance(tenantId, id));
  if (row === undefined) return null;
  const { status, outcome, state } = row;
  const { error = null, reason = null } = payload as JsonObject;
  const ended = error as unknown as StepError | null;
  const cancelled = { type: 'process_cancelled', status: 409, detail: reason as string | null };
  return { status, outcome, data: state.data, error: status === 'cancelled' ? cancelled : ended };
}
