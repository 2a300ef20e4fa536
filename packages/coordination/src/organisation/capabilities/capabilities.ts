import { type ItemPage, listPage } from '@baton/kernel/database/list';
import type { Page } from '@baton/kernel/http/paging';
import { eventText } from '@baton/values/event-text';
import { newId } from '@baton/values/ids';
import { emit } from '../../ledger/journal/journal.ts';
import { requireVersionOf } from '../../service/changes.ts';
import type { Context } from '../context.ts';
import { fail } from '../errors.ts';
import { storeUnique } from '../store-unique.ts';
import { capabilityCreated, capabilityUpdated } from './capabilities.events.ts';
import {
  findCapabilities,
  findCapability,
  insertCapability,
  lockCapability,
  updateCapabilityValues,
} from './capabilities.sql.ts';
import {
  type Capability,
  type CapabilityChange,
  type CapabilityRequest,
  type CapabilityRow,
  capabilityOf,
} from './capability.ts';

/** Creates a capability. See docs/reference/skills.md#capabilities. @throws Refusal `capability_exists` */
export async function createCapability(context: Context, request: CapabilityRequest): Promise<Capability> {
  const { db, tenantId } = context;
  const { name, description } = request;
  const row = await db.row(insertCapability({ id: newId(), tenantId, name, description }));
  if (row === undefined) return fail('capability_exists', { name });
  emit(context, capabilityCreated, { entityId: row.id }, { name: eventText(name) });
  return capabilityOf(row);
}

/** @throws Refusal `invalid_cursor` */
export async function listCapabilities(
  { db, tenantId }: Context,
  query: { package?: string | undefined },
  page: Page,
): Promise<ItemPage<Capability>> {
  const found = findCapabilities(tenantId, query.package, page);
  return listPage(db, found, capabilityOf);
}

/** @throws Refusal `not_found` */
export async function getCapability(context: Context, id: string): Promise<Capability> {
  return capabilityOf(await getCapabilityRow(context, id));
}

/** @throws Refusal `not_found` */
export async function getCapabilityRow({ db, tenantId }: Context, id: string): Promise<CapabilityRow> {
  return (await db.row(findCapability(tenantId, id))) ?? fail('not_found', { capabilityId: id });
}

/**
 * Changes a capability; values equal to the stored ones change nothing. See docs/reference/skills.md#capabilities.
 * @throws Refusal `not_found`, `version_conflict`, `capability_exists`, `empty_update`
 */
export async function updateCapability(
  context: Context,
  id: string,
  ifMatch: number,
  change: CapabilityChange,
): Promise<Capability> {
  const { db, tenantId } = context;
  const before = (await db.row(lockCapability(tenantId, id))) ?? fail('not_found', { capabilityId: id });
  requireVersionOf('capability', before, ifMatch);
  const name = change.name ?? before.name;
  const description = change.description ?? before.description;
  if (Object.keys(change).length === 0) fail('empty_update');
  const changes = {
    ...(name !== before.name && { name: eventText(name) }),
    ...(description !== before.description && { description: eventText(description) }),
  };
  if (Object.keys(changes).length === 0) return capabilityOf(before);
  const storing = db.row(updateCapabilityValues(tenantId, id, { name, description }));
  const row = (await storeUnique(storing, () => fail('capability_exists', { name }))) as CapabilityRow;
  emit(context, capabilityUpdated, { entityId: id }, { changes, version: row.version });
  return capabilityOf(row);
}
