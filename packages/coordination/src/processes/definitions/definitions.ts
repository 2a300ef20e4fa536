import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { specBytesMax } from '@baton/process-engine/language/read-definition';
import { eventText } from '@baton/values/event-text';
import type { VersionRef } from '@baton/values/keys';
import { emit } from '../../ledger/journal/journal.ts';
import { pageWithinBytes } from '../../organisation/byte-pages.ts';
import { listSeen } from '../../service/sight/seen-list.ts';
import { requireSight, viewerOf } from '../../service/sight/sight.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { openInstancesOf, removeTriggers } from '../triggers/triggers.ts';
import {
  definitionOf,
  definitionStatuses,
  type KeyedDefinitionRow,
  type ProcessDefinition,
  type ProcessDefinitionRow,
  type RetiredProcess,
  retiredOf,
} from './definition.ts';
import { definitionRetired } from './definitions.events.ts';
import {
  findDefinition,
  findVersions,
  listOfDefinitions,
  lockProcessKey,
  updateToRetired,
} from './definitions.sql.ts';

/**
 * A version of a process, or its latest one, that the caller sees.
 * @throws Refusal `not_found`
 */
export async function getDefinitionRow(
  context: Context,
  key: string | null,
  version: number | null,
): Promise<KeyedDefinitionRow> {
  const { db, tenantId } = context;
  const details = { processDefinition: version === null ? key : `${key}@${version}` };
  const row = key === null ? undefined : await db.row(findDefinition(tenantId, key, version));
  if (row === undefined) return fail('not_found', details);
  await requireSight(context, row.workspace_id, details);
  return row;
}

/** @throws Refusal `not_found` */
export async function getDefinition(
  context: Context,
  { key, version }: VersionRef,
): Promise<ProcessDefinition> {
  return definitionOf(await getDefinitionRow(context, key, version));
}

export interface DefinitionQuery {
  key?: string | undefined;
  workspaceId?: string | undefined;
  governedBy?: string | undefined;
  status?: string | undefined;
  package?: string | undefined;
}

/** A page of the latest versions. @throws Refusal `invalid_status`, `invalid_cursor` */
export async function listDefinitions(
  context: Context,
  { key, workspaceId, governedBy, status, package: packageKey }: DefinitionQuery,
  page: Page,
): Promise<ItemPage<ProcessDefinition>> {
  if (status !== undefined && !definitionStatuses.some((known) => known === status))
    fail('invalid_status', { allowed: definitionStatuses });
  const filter = { key, workspace_id: workspaceId, status, package_key: packageKey };
  const list = listOfDefinitions(context.tenantId, filter, governedBy);
  const viewer = await viewerOf(context);
  return pageWithinBytes(page, definitionBytesMax, (part) =>
    listSeen(context.db, viewer, list, part, latestOf),
  );
}

/** The size of one definition as JSON: its document, its warnings and the members around them. */
const definitionBytesMax = 2 * specBytesMax;

function latestOf(row: ProcessDefinitionRow): ProcessDefinition {
  return definitionOf({ ...row, latest_version: row.version });
}

/** The versions of a process, newest first. @throws Refusal `not_found`, `invalid_cursor` */
export async function listDefinitionVersions(
  context: Context,
  key: string,
  page: Page,
): Promise<ItemPage<ProcessDefinition>> {
  const { version, status, retired_at, retired_by, retired_reason } = await getDefinitionRow(
    context,
    key,
    null,
  );
  const ofKey = { latest_version: version, status, retired_at, retired_by, retired_reason };
  const viewer = await viewerOf(context);
  return pageWithinBytes(page, definitionBytesMax, (part) =>
    listPage(context.db, findVersions(context.tenantId, key, viewer, part), (row) =>
      definitionOf({ ...row, ...ofKey }),
    ),
  );
}

/**
 * Retires a process: no new instances start. Repeating it changes nothing.
 * @param isDryRun returns the result without writing it
 * @throws Refusal `not_found`
 */
export async function retireDefinition(
  context: Context,
  key: string,
  reason: string,
  isDryRun: boolean,
): Promise<RetiredProcess> {
  const { db, tenantId, caller } = context;
  await db.run(lockProcessKey(tenantId, key));
  const row = await getDefinitionRow(context, key, null);
  if (isDryRun || row.status === 'retired') return retirementOf(context, row);
  await removeTriggers(context, key);
  await db.run(updateToRetired(tenantId, key, caller.principalId, reason));
  const retired = await retirementOf(context, await getDefinitionRow(context, key, null));
  const { openInstances, byVersion } = retired;
  emit(
    context,
    definitionRetired,
    { entityId: row.id, workspaceId: row.workspace_id },
    {
      key,
      latestVersion: row.version,
      workspaceId: row.workspace_id,
      reason: eventText(reason),
      openInstances,
      byVersion,
    },
  );
  return retired;
}

/** The number of open instances of a retired process, which continue with the version that they started with. */
async function retirementOf(context: Context, row: KeyedDefinitionRow): Promise<RetiredProcess> {
  const byVersion = await openInstancesOf(context, row.key);
  const openInstances = byVersion.reduce((sum, { openInstances: open }) => sum + open, 0);
  return { key: row.key, status: row.status, retired: retiredOf(row), openInstances, byVersion };
}
