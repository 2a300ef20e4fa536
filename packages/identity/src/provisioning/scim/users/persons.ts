import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/db';
import type { Context } from '../../context.ts';
import { externalIdentityLinked } from '../../../directory/external-identities/external-identities.events.ts';
import { emit } from '../../../records/journal/journal.ts';
import { principalCreated } from '../../../directory/principals/principals.events.ts';
import {
  addPrincipal,
  disableLocked,
  disableNew,
  lockPerson,
  makeActive,
} from '../../../directory/principals/principals.ts';
import { fail } from '../../errors.ts';
import type { ScimSource } from '../../caller.ts';
import {
  deleteUnlinkedPerson,
  findIdentity,
  insertIdentity,
  lockIdentity,
  renamePrincipal,
  restoreMembership,
  setIdentityStatus,
  updateIdentity,
  type UserContent,
  type UserRow,
} from './users.sql.ts';

/** The person behind a SCIM user: principal, membership and external identity (contract, section 10.5). */

const nameCharactersMax = 200;
const subjectCharactersMax = 500;

type Person = Pick<UserRow, 'principal_id' | 'external_identity_id'>;

/**
 * A new person, or the one whose identity has this external id already: who was deleted comes back as the same
 * principal, and who signed in before, or signs in for the first time at this moment, is taken over.
 * @throws Refusal `scim_uniqueness` when that person is another user
 */
export async function createPerson(
  context: Context,
  source: ScimSource,
  scimId: string,
  content: UserContent,
): Promise<{ principalId: string; identityId: string }> {
  const { db } = context;
  const known = await takePersonOver(context, source, content);
  if (known !== undefined) return known;
  const { tenantId, key } = source;
  const displayName = nameOf(source, content);
  const principal = (await addPrincipal(db, { tenantId, kind: 'human', displayName })) as { id: string };
  const identityId = randomUUID();
  const linkedNow = await db.run(
    insertIdentity({
      id: identityId,
      tenantId,
      principalId: principal.id,
      issuer: source.providerIssuer,
      subject: placeholderOf(source, content.externalId ?? scimId),
      providerId: source.providerId,
      externalId: content.externalId ?? '',
    }),
  );
  if (linkedNow === 0) {
    await db.run(deleteUnlinkedPerson(principal.id));
    return (await takePersonOver(context, source, content)) ?? fail('scim_uniqueness');
  }
  const created = { principalId: principal.id, kind: 'human' as const, provisioningSource: key };
  emit(context, principalCreated, { tenantId, aggregateId: principal.id }, created);
  const linked = { externalIdentityId: identityId, principalId: principal.id, provisioningSource: key };
  emit(context, externalIdentityLinked, { tenantId, aggregateId: identityId }, linked);
  if (!content.active) {
    await disableNew(db, principal.id);
    await db.run(setIdentityStatus(identityId, 'disabled'));
  }
  return { principalId: principal.id, identityId };
}

/** @throws Refusal `scim_uniqueness` when the person is a user already */
async function takePersonOver(
  context: Context,
  source: ScimSource,
  content: UserContent,
): Promise<{ principalId: string; identityId: string } | undefined> {
  const { db } = context;
  if (content.externalId === null) return undefined;
  const known = await db.row(findIdentity(source.providerId, content.externalId));
  if (known === undefined) return undefined;
  const person = { principal_id: known.principal_id, external_identity_id: known.id };
  await holdPerson(db, person);
  // Only now nobody else can take the person.
  const held = await db.row(lockIdentity(known.id, content.externalId));
  if (held === undefined || held.is_taken) fail('scim_uniqueness');
  await db.run(restoreMembership(source.tenantId, known.principal_id));
  await (content.active ? restorePerson : suspendPerson)(context, source, person);
  await db.run(renamePrincipal(known.principal_id, nameOf(source, content)));
  return { principalId: known.principal_id, identityId: known.id };
}

/** The principal before its identity, as in a sign-in: two that lock in another order wait for each other. */
async function holdPerson(db: Db, person: Pick<Person, 'principal_id'>) {
  return (await lockPerson(db, person.principal_id)) ?? fail('scim_not_found');
}

/** Lets name and external id follow the directory. */
export async function followPerson(
  { db }: Context,
  source: ScimSource,
  row: UserRow,
  content: UserContent,
): Promise<void> {
  await holdPerson(db, row);
  if (row.external_id !== content.externalId) {
    const placeholder = placeholderOf(source, content.externalId ?? row.id);
    await db.run(updateIdentity(row.external_identity_id, content.externalId ?? '', placeholder));
  }
  await db.run(renamePrincipal(row.principal_id, nameOf(source, content)));
}

/** The same as `:disable`, for a person whom the directory takes away; its identity signs nobody in any more. */
export async function suspendPerson(context: Context, source: ScimSource, person: Person): Promise<void> {
  const { db } = context;
  const principalId = person.principal_id;
  const principal = await holdPerson(db, person);
  await disableLocked(context, principal, {
    tenantId: source.tenantId,
    principalId,
    reason: 'scim_deactivated',
    provisioningSource: source.key,
  });
  await db.run(setIdentityStatus(person.external_identity_id, 'disabled'));
}

/** From disabled or paused. What was revoked stays revoked. */
export async function restorePerson(context: Context, source: ScimSource, person: Person): Promise<void> {
  const { db } = context;
  const principalId = person.principal_id;
  await holdPerson(db, person);
  await db.run(setIdentityStatus(person.external_identity_id, 'active'));
  await makeActive(context, { tenantId: source.tenantId, principalId, provisioningSource: source.key });
}

function nameOf(source: ScimSource, { displayName, externalId, userName }: UserContent): string {
  const name = displayName ?? (externalId === null ? userName : `${source.key}:${externalId}`);
  return [...name].slice(0, nameCharactersMax).join('');
}

/** The subject until the first sign-in tells the real one. */
function placeholderOf(source: ScimSource, id: string): string {
  return [...`urn:iam:scim:${source.key}:${id}`].slice(0, subjectCharactersMax).join('');
}
