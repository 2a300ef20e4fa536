import { randomUUID } from 'node:crypto';
import {
  groupCreated,
  groupMembershipAdded,
  groupMembershipRemoved,
} from '../../directory/groups/groups.events.ts';
import { emit } from '../../records/journal/journal.ts';
import { sortedSet } from '../../service/fields.ts';
import type { Context } from '../context.ts';
import type { OpenProvider } from '../identity-providers/identity-provider.ts';
import {
  deleteOtherMemberships,
  findProjectedGroups,
  insertFederatedGroups,
  insertMemberships,
  lockGroupsByKey,
} from './group-projection.sql.ts';

/**
 * Makes the memberships from a provider equal to the groups in its token (see docs/reference/providers.md#groups).
 * Without a group claim they remain; an empty list removes them. The caller has locked the person's identity, so
 * two sign-ins of one person do this one after the other.
 * @param upstream the groups of the token; undefined without a group claim
 * @returns the keys of the Baton groups that the person belongs to through this provider
 */
export async function projectGroups(
  context: Context,
  provider: OpenProvider,
  principalId: string,
  upstream: readonly string[] | undefined,
): Promise<string[]> {
  const { db } = context;
  const { id: providerId, tenant_id: tenantId, key: identityProvider } = provider;
  const person = { tenantId, principalId, providerId };
  if (upstream === undefined) return (await db.rows(findProjectedGroups(person))).map(({ key }) => key);
  const keys = mappedGroups(provider.group_mappings, upstream);
  await createMissingGroups(context, provider, keys);
  const groups = keys.length === 0 ? [] : await db.rows(lockGroupsByKey(tenantId, keys));
  const projection = { ...person, groupIds: groups.map(({ id }) => id) };
  const removed = await db.rows(deleteOtherMemberships(projection));
  const added = groups.length === 0 ? [] : await db.rows(insertMemberships(projection));
  for (const [event, rows] of [
    [groupMembershipRemoved, removed],
    [groupMembershipAdded, added],
  ] as const)
    for (const { group_id: groupId } of rows)
      emit(context, event, { tenantId, aggregateId: groupId }, { groupId, principalId, identityProvider });
  return groups.map(({ key }) => key);
}

/**
 * The sorted keys of the Baton groups that the upstream groups map to. Upstream groups without a mapping are ignored.
 */
function mappedGroups(mappings: Readonly<Record<string, string>>, upstream: readonly string[]): string[] {
  const present = new Set(upstream.map(trimGroup));
  const mapped = Object.entries(mappings).filter(([name]) => present.has(trimGroup(name)));
  return sortedSet(mapped.map(([, key]) => key));
}

/** Providers write a group as `/engineering`, `engineering` or with surrounding spaces. */
function trimGroup(name: string): string {
  return name.trim().replace(/^\/+/, '').trim();
}

/** Groups that entitle their members to a privileged scope are not created here: only an administrator may do so. */
async function createMissingGroups(
  context: Context,
  provider: OpenProvider,
  keys: readonly string[],
): Promise<void> {
  const { tenant_id: tenantId, key: identityProvider } = provider;
  const privileged = new Set(context.settings.privilegedScopes.values());
  const wanted = keys.filter((key) => !privileged.has(key)).map((key) => ({ id: randomUUID(), key }));
  if (wanted.length === 0) return;
  for (const { id: groupId, key } of await context.db.rows(insertFederatedGroups(tenantId, wanted)))
    emit(
      context,
      groupCreated,
      { tenantId, aggregateId: groupId },
      { groupId, key, source: 'federated', identityProvider },
    );
}
