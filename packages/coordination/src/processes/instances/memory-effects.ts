import type { Effect } from '@baton/process-engine/engine/inputs';
import { eventText } from '@baton/values/event-text';
import type { JsonObject } from '@baton/values/wire';
import { rootOf } from '../../memory/context/focus.ts';
import { refuseMemory, visibleNamespaces } from '../../memory/gateway/visible-namespaces.ts';
import { NewObservation } from '../../results/observations/observation.ts';
import { recordObservation } from '../../results/observations/observations.ts';
import { requirePermission } from '../../rules/acts/work-item.ts';
import { holds } from '../../service/permissions.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import type { InstanceRow } from './instance.ts';
import { deleteRecall, findArtifactsOfInstance, insertRecall } from './instances.sql.ts';

/** Memory queries and observations made by steps (docs/reference/processes.md#steps). */

type Of<Kind extends Effect['kind']> = Extract<Effect, { kind: Kind }>;
type Assertions = { readonly [member: string]: unknown }[];

/** The maximum size of all assertions in an observation, which leaves room for its other members. */
const assertions = { max: 200, bytesMax: 65_000 };
const artifacts = { max: 40, titleCharactersMax: 100 };
const source = 'process';

/** Stores a query, which the worker sends after the commit. @throws Refusal `permission_denied` */
export async function openRecall(
  context: Context,
  row: InstanceRow,
  { recallId, element, question }: Of<'open_recall'>,
): Promise<undefined> {
  requirePermission(context, 'events.read');
  const { db, tenantId } = context;
  const namespaces = await visibleNamespaces(context, await rootOf(context, row.workspace_id));
  // A query without a namespace would search all of memory.
  if (namespaces.length === 0) refuseMemory(context);
  const { id: instance_id } = row;
  await db.run(
    insertRecall({
      id: recallId,
      instance_id,
      tenant_id: tenantId,
      element,
      question,
      namespaces: [...namespaces],
    }),
  );
}

/** Deletes a query whose result is no longer needed. */
export async function closeRecall({ db, tenantId }: Context, recallId: string): Promise<undefined> {
  await db.run(deleteRecall(tenantId, recallId));
}

/** @throws Refusal `permission_denied`, `observation_invalid`, those of documents */
export async function openObservation(
  context: Context,
  row: InstanceRow,
  { observationId, element, observed, content, data, facts }: Of<'open_observation'>,
  at: string,
): Promise<undefined> {
  requirePermission(context, 'observations.write');
  const given = facts.map((fact) => ({ assert: 'fact', fact }));
  await observe(context, row, observationId, {
    kind: observed,
    content: content.trim() === '' ? element : content,
    data,
    assertions: given,
    dedupKey: observationId,
    observedAt: at,
  });
}

/** Describes the instance as a case to the memory service. @throws Refusal as `openObservation` */
export async function reportCase(
  context: Context,
  row: InstanceRow,
  { status, memory }: Of<'tell_case'>,
  at: string,
): Promise<undefined> {
  requirePermission(context, 'observations.write');
  const { case: about, facts, entities } = memory;
  const caseKey = `case:${about.key}`;
  const isOver = status !== 'running' && status !== 'suspended';
  const { definition_key: process, definition_version: version, id: instanceId } = row;
  const properties = { process, version, instanceId, status };
  const told: Assertions = [
    { assert: 'entity', entity: { key: caseKey, type: 'case', title: about.title, properties } },
    ...facts.map((fact) => ({ assert: 'fact', fact: { subject: caseKey, ...fact } })),
    ...entities.flatMap(({ type, key, title }) =>
      related(caseKey, 'involves', `${type}:${key}`, type, title),
    ),
    ...(isOver ? await documentsOf(context, row, caseKey, memory.documents?.artifacts ?? []) : []),
  ];
  while (told.length > assertions.max || Buffer.byteLength(JSON.stringify(told)) > assertions.bytesMax)
    told.pop();
  await observe(context, row, undefined, {
    kind: 'process.case',
    content: `${about.title} (${status})`,
    data: properties,
    assertions: told,
    observedAt: at,
  });
}

function related(subject: string, predicate: string, key: string, type: string, title: string): Assertions {
  return [
    { assert: 'entity', entity: { key, type, title } },
    { assert: 'fact', fact: { subject, predicate, object: key } },
  ];
}

/** The artifacts of the given types that the instance's tasks produced, if its agent may read them. */
async function documentsOf(
  context: Context,
  { id }: InstanceRow,
  caseKey: string,
  types: readonly string[],
): Promise<Assertions> {
  if (types.length === 0 || !holds(context.caller.permissions, 'artifacts.read')) return [];
  const rows = await context.db.rows(findArtifactsOfInstance(context.tenantId, id, types, artifacts.max));
  return rows.flatMap((row) => {
    const title = eventText(row.name).slice(0, artifacts.titleCharactersMax).toWellFormed();
    return related(caseKey, 'has_document', `artifact:${row.id}`, row.type, title);
  });
}

async function observe(
  context: Context,
  row: InstanceRow,
  id: string | undefined,
  sent: { readonly [member: string]: unknown } & { readonly data: JsonObject },
): Promise<void> {
  const { workspace_id: workspaceId } = row;
  const request = NewObservation.safeParse({ ...sent, source, workspaceId });
  if (!request.success)
    return fail('observation_invalid', { field: request.error.issues[0]?.path.join('.') });
  await recordObservation(context, request.data, id);
}
