import { createHash } from 'node:crypto';
import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { canonicalJson } from '@baton/values/canonical-json';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { emit } from '../../../ledger/journal/journal.ts';
import { getProjectRow } from '../../../organisation/projects/projects.ts';
import { checkDocument, refuseSecretKeys } from '../../../service/documents.ts';
import { holds, type Permission } from '../../../service/permissions.ts';
import { viewerOf } from '../../../service/sight/sight.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import { processStepName } from '../../tasks/step-forms/step-name.ts';
import { parseTaskRef, type TaskRef } from '../../tasks/task-ref.ts';
import { getTaskRow } from '../../tasks/tasks.ts';
import {
  type ExternalName,
  type ExternalReference,
  type ExternalReferenceRequest,
  type ExternalReferenceRow,
  entityTypes,
  externalReferenceOf,
  externalTextCharactersMax,
} from './external-reference.ts';
import {
  externalReferenceAdded,
  externalReferenceRemoved,
  externalReferenceUpdated,
  projectReferenceAdded,
  projectReferenceRemoved,
  projectReferenceUpdated,
} from './external-references.events.ts';
import {
  deleteReference,
  findReference,
  findReferenceByName,
  findReferencesOf,
  insertReference,
  lockReferenceByName,
  seesEntity,
  updateReferenceMetadata,
} from './external-references.sql.ts';

type EntityType = (typeof entityTypes)[number];

/** An object with external names. */
interface Entity {
  readonly type: EntityType;
  readonly id: string;
  readonly workspaceId: string | null;
}

/** Set by the process itself, which names the tasks of its steps. */
export interface NameOptions {
  readonly asProcess?: boolean;
}

const eventsOf = {
  project: {
    added: projectReferenceAdded,
    updated: projectReferenceUpdated,
    removed: projectReferenceRemoved,
  },
  task: {
    added: externalReferenceAdded,
    updated: externalReferenceUpdated,
    removed: externalReferenceRemoved,
  },
} as const;

const writePermission: Readonly<Record<EntityType, Permission>> = {
  project: 'projects.manage',
  task: 'tasks.write',
};
const readPermission: Readonly<Record<EntityType, Permission>> = {
  project: 'projects.read',
  task: 'tasks.read',
};

/** @throws Refusal `invalid_entity_type` */
export function parseEntityType(text: string): EntityType {
  return (
    entityTypes.find((known) => known === text) ?? fail('invalid_entity_type', { supported: entityTypes })
  );
}

/**
 * Sets an external name of a task or a project. For an existing name, the metadata is replaced; equal metadata changes
 * nothing.
 * @throws Refusal `invalid_entity_type`, `permission_denied`, `invalid_entity_reference`, `not_found`,
 * `invalid_external_reference`, `invalid_document`, `payload_too_large`, `payload_too_deep`,
 * `secret_material_rejected`, `external_reference_conflict`, `not_eligible` for the name of a process step
 * (`requireMayName`)
 */
export async function putExternalReference(
  context: Context,
  request: ExternalReferenceRequest,
  options: NameOptions = {},
): Promise<{ reference: ExternalReference; isNew: boolean }> {
  const { externalSystem, externalType, externalId, metadata } = request;
  const entity = await entityOf(context, request, writePermission);
  const name = { externalSystem, externalType, externalId };
  requireName(name);
  checkDocument(metadata, { field: 'metadata' });
  refuseSecretKeys(metadata, 'metadata');
  requireMayName(name, options);
  const { db, tenantId, caller } = context;
  const referenceKey = keyOf(name);
  const named = { entityType: entity.type, entityId: entity.id };
  const values = { ...name, ...named, id: newId(), tenantId, referenceKey, metadata };
  const made = await db.row(insertReference({ ...values, createdBy: caller.principalId }));
  if (made !== undefined) {
    emitOn(context, 'added', entity, made);
    return { reference: externalReferenceOf(made), isNew: true };
  }
  const known = await db.row(lockReferenceByName(tenantId, referenceKey));
  // The name was removed between the two statements, so it can be set now.
  if (known === undefined) return putExternalReference(context, request, options);
  if (known.entity_id !== entity.id) return refuseTaken(context, known);
  if (canonicalJson(known.metadata) === canonicalJson(metadata))
    return { reference: externalReferenceOf(known), isNew: false };
  const row = await db.row(updateReferenceMetadata(tenantId, known.id, metadata));
  if (row === undefined) throw new Error('a locked external reference disappeared');
  emitOn(context, 'updated', entity, row);
  return { reference: externalReferenceOf(row), isNew: false };
}

/**
 * The name that a step gives its task contains the form that the completion validates, so only the process itself
 * sets and removes these names.
 * @throws Refusal `not_eligible`
 */
function requireMayName(
  { externalSystem, externalType }: Pick<ExternalName, 'externalSystem' | 'externalType'>,
  { asProcess = false }: NameOptions,
): void {
  const isOfStep =
    externalSystem === processStepName.externalSystem && externalType === processStepName.externalType;
  if (isOfStep && !asProcess) fail('not_eligible', { externalSystem, externalType });
}

/** The details name the object that has the name, if the caller can see it. */
async function refuseTaken(context: Context, known: ExternalReferenceRow): Promise<never> {
  const { entity_type: entityType, entity_id: entityId } = known;
  const isSeen = await isEntitySeen(context, known);
  fail('external_reference_conflict', isSeen ? { entityType, entityId } : {});
}

async function isEntitySeen(
  context: Context,
  { entity_type: entityType, entity_id: entityId }: ExternalReferenceRow,
): Promise<boolean> {
  const viewerId = await viewerOf(context);
  return (
    viewerId === null || (await context.db.row(seesEntity(viewerId, entityType, entityId)))?.sees === true
  );
}

/** The named object. */
async function entityOf(
  context: Context,
  { entityType: text, entityId }: { entityType: string; entityId: string },
  permissions: Readonly<Record<EntityType, Permission>>,
): Promise<Entity> {
  const entityType = parseEntityType(text);
  requirePermission(context, permissions[entityType]);
  const ref = parseTaskRef(entityId);
  const isNamed = ref.id !== null || (entityType === 'task' && ref.number !== null);
  if (!isNamed) fail('invalid_entity_reference', { entityType });
  return findEntity(context, entityType, ref);
}

async function findEntity(context: Context, type: EntityType, ref: TaskRef): Promise<Entity> {
  if (type === 'project') {
    const project = await getProjectRow(context, ref.id as string);
    return { type, id: project.id, workspaceId: project.workspace_id };
  }
  const { id, workspace_id: workspaceId } = await getTaskRow(context, ref);
  return { type, id, workspaceId };
}

function requirePermission({ caller }: Context, name: Permission): void {
  if (!holds(caller.permissions, name)) fail('permission_denied', { required: [name] });
}

function requireName(name: ExternalName): void {
  for (const [field, text] of Object.entries(name))
    if (text.trim() === '' || Array.from(text).length > externalTextCharactersMax)
      fail('invalid_external_reference', { field, maxLength: externalTextCharactersMax });
}

function keyOf({ externalSystem, externalType, externalId }: ExternalName): string {
  return createHash('sha256')
    .update(JSON.stringify([externalSystem, externalType, externalId]))
    .digest('hex');
}

export interface ExternalReferenceQuery extends Partial<ExternalName> {
  entityType?: string;
  entityId?: string;
}

/**
 * Lists the names of an object, or the object with a name. The latter finds no object that the caller may not read or
 * can't see.
 * @throws Refusal `invalid_external_lookup`, `invalid_entity_type`, `permission_denied`, `invalid_entity_reference`,
 * `not_found`, `invalid_cursor`
 */
export async function listExternalReferences(
  context: Context,
  query: ExternalReferenceQuery,
  page: Page,
): Promise<ItemPage<ExternalReference>> {
  const { db, tenantId } = context;
  const { entityType, entityId, externalSystem, externalType, externalId } = query;
  const byEntity = [entityType, entityId];
  const byName = [externalSystem, externalType, externalId];
  const isGiven = (parts: (string | undefined)[]) => parts.every((part) => part !== undefined);
  const isAbsent = (parts: (string | undefined)[]) => parts.every((part) => part === undefined);
  if (isGiven(byEntity) && isAbsent(byName)) {
    const named = { entityType: entityType as string, entityId: entityId as string };
    const entity = await entityOf(context, named, readPermission);
    return listPage(db, findReferencesOf(tenantId, entity.id, page), externalReferenceOf);
  }
  if (!isGiven(byName) || !isAbsent(byEntity)) fail('invalid_external_lookup');
  // Built only to validate the cursor: a name has a single page, but a cursor from another list must be refused.
  findReferencesOf(tenantId, tenantId, page);
  const row = await db.row(findReferenceByName(tenantId, keyOf(query as ExternalName)));
  const isReadable =
    row !== undefined &&
    holds(context.caller.permissions, readPermission[row.entity_type]) &&
    (await isEntitySeen(context, row));
  return { items: isReadable ? [externalReferenceOf(row)] : [], nextCursor: null };
}

/** Removes a name. @throws Refusal `not_found`, `permission_denied`, `not_eligible` for the name of a process step */
export async function deleteExternalReference(
  context: Context,
  id: string,
  options: NameOptions = {},
): Promise<undefined> {
  const { db, tenantId } = context;
  const known = (await db.row(findReference(tenantId, id))) ?? fail('not_found', { externalReferenceId: id });
  requirePermission(context, writePermission[known.entity_type]);
  const entity = await findEntity(context, known.entity_type, { id: known.entity_id, number: null });
  const { external_system: externalSystem, external_type: externalType } = known;
  requireMayName({ externalSystem, externalType }, options);
  const row = (await db.row(deleteReference(tenantId, id))) ?? fail('not_found', { externalReferenceId: id });
  emitOn(context, 'removed', entity, row);
}

function emitOn(
  context: Context,
  what: keyof (typeof eventsOf)['task'],
  { type, id, workspaceId }: Entity,
  row: ExternalReferenceRow,
): void {
  emit(
    context,
    eventsOf[type][what],
    { entityId: id, workspaceId },
    {
      externalReferenceId: row.id,
      externalSystem: eventText(row.external_system),
      externalType: eventText(row.external_type),
      externalId: eventText(row.external_id),
    },
  );
}
