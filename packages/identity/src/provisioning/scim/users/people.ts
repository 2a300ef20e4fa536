import { randomUUID } from 'node:crypto';
import type { Db } from '@baton/kernel/database/db';
import { externalIdentityLinked } from '../../../directory/external-identities/external-identities.events.ts';
import { principalCreated } from '../../../directory/principals/principals.events.ts';
import {
  addPrincipal,
  disableLocked,
  disableNew,
  type LockedPerson,
  lockPerson,
  lockPersonAlone,
  makeActive,
} from '../../../directory/principals/principals.ts';
import { emit } from '../../../records/journal/journal.ts';
import type { ScimSource } from '../../caller.ts';
import type { Context } from '../../context.ts';
import { fail } from '../../errors.ts';
import {
  deleteNewPrincipal,
  findIdentity,
  insertIdentity,
  lockIdentity,
  updateIdentity,
  updateIdentityStatus,
  updatePrincipalName,
  upsertMembership,
} from './people.sql.ts';
import type { UserContent, UserRow } from './user.ts';

/**
 * The person of a SCIM user: a principal, its membership and its external identity (see
 * docs/reference/scim.md#users).
 */

const nameCharactersMax = 200;
const subjectCharactersMax = 500;

type Person = Pick<UserRow, 'principal_id' | 'external_identity_id'>;

interface NewPerson {
  readonly principalId: string;
  readonly identityId: string;
  readonly isBlocked: boolean;
}

/**
 * Creates the person of a new user, or reuses the one whose identity already has the external id. A deleted user is
 * therefore restored as the same principal, and a person who signed in before the directory provisioned them isn't
 * duplicated.
 * @param scimId the id of the new user
 * @returns also whether an administrator has disabled the person
 * @throws Refusal `scim_uniqueness` when that person is another user
 */
export async function createPerson(
  context: Context,
  source: ScimSource,
  scimId: string,
  content: UserContent,
): Promise<NewPerson> {
  const { db } = context;
  const reused = await reusePerson(context, source, content);
  if (reused !== undefined) return reused;
  const { tenantId, key } = source;
  const displayName = displayNameOf(source, content);
  const principal = (await addPrincipal(db, { tenantId, kind: 'human', displayName })) as { id: string };
  const identityId = randomUUID();
  const inserted = await db.run(
    insertIdentity({
      id: identityId,
      tenantId,
      principalId: principal.id,
      issuer: source.providerIssuer,
      subject: placeholderSubject(source, content.externalId ?? scimId),
      providerId: source.providerId,
      externalId: content.externalId ?? '',
    }),
  );
  if (inserted === 0) {
    // A concurrent sign-in or creation has linked the person first.
    await db.run(deleteNewPrincipal(principal.id));
    return (await reusePerson(context, source, content)) ?? fail('scim_uniqueness');
  }
  const created = { principalId: principal.id, kind: 'human' as const, provisioningSource: key };
  emit(context, principalCreated, { tenantId, aggregateId: principal.id }, created);
  const linked = { externalIdentityId: identityId, principalId: principal.id, provisioningSource: key };
  emit(context, externalIdentityLinked, { tenantId, aggregateId: identityId }, linked);
  if (!content.active) {
    await disableNew(db, principal.id);
    await db.run(updateIdentityStatus(identityId, 'disabled'));
  }
  return { principalId: principal.id, identityId, isBlocked: false };
}

/**
 * @returns undefined if no identity has the external id; @throws Refusal `scim_uniqueness` if a user has it
 */
async function reusePerson(
  context: Context,
  source: ScimSource,
  content: UserContent,
): Promise<NewPerson | undefined> {
  const { db } = context;
  if (content.externalId === null) return undefined;
  const known = await db.row(findIdentity(source.providerId, content.externalId));
  if (known === undefined) return undefined;
  const person = { principal_id: known.principal_id, external_identity_id: known.id };
  // If the person is to be disabled, the lock is exclusive from the start: two transactions that share it and then both
  // want it exclusively would deadlock.
  const locked = await lockPrincipal(db, person, { alone: !content.active });
  // Read again under the lock, because another transaction may have linked the person in the meantime.
  const identity = await db.row(lockIdentity(known.id, content.externalId));
  if (identity === undefined || identity.is_taken) fail('scim_uniqueness');
  await db.run(upsertMembership(source.tenantId, known.principal_id));
  await (content.active ? enablePerson : disablePerson)(context, source, person, locked);
  await db.run(updatePrincipalName(known.principal_id, displayNameOf(source, content)));
  return {
    principalId: known.principal_id,
    identityId: known.id,
    isBlocked: locked.disabled_by_admin,
  };
}

/**
 * Locks the principal of a user. Call it before the user or the user's identity is locked: a sign-in and a disable lock
 * in the same order, and the reverse order could deadlock.
 * @param alone for disabling the person: an exclusive lock
 */
export async function lockPrincipal(
  db: Db,
  person: Pick<Person, 'principal_id'>,
  { alone }: { alone: boolean },
): Promise<LockedPerson> {
  return (await (alone ? lockPersonAlone : lockPerson)(db, person.principal_id)) ?? fail('scim_not_found');
}

/** Applies the user's current name and external id from the directory. The caller has locked the principal. */
export async function updatePerson(
  { db }: Context,
  source: ScimSource,
  row: UserRow,
  content: UserContent,
): Promise<void> {
  if (row.external_id !== content.externalId) {
    const placeholder = placeholderSubject(source, content.externalId ?? row.id);
    await db.run(updateIdentity(row.external_identity_id, content.externalId ?? '', placeholder));
  }
  await db.run(updatePrincipalName(row.principal_id, displayNameOf(source, content)));
}

/**
 * Disables the principal and the identity, and revokes the credentials, as
 * `POST …/principals/{principalId}:disable` does.
 * @param locked the person's principal, locked exclusively
 */
export async function disablePerson(
  context: Context,
  source: ScimSource,
  person: Person,
  locked: LockedPerson,
): Promise<void> {
  const { db } = context;
  const principalId = person.principal_id;
  await disableLocked(context, locked, {
    tenantId: source.tenantId,
    principalId,
    reason: 'scim_deactivated',
    provisioningSource: source.key,
  });
  await db.run(updateIdentityStatus(person.external_identity_id, 'disabled'));
}

/**
 * Enables a disabled or paused person, unless an administrator disabled them. Revoked credentials stay revoked.
 * @param locked the person's principal
 */
export async function enablePerson(
  context: Context,
  source: ScimSource,
  person: Person,
  locked: LockedPerson,
): Promise<void> {
  const { db } = context;
  const principalId = person.principal_id;
  await db.run(updateIdentityStatus(person.external_identity_id, 'active'));
  if (locked.disabled_by_admin) return;
  await makeActive(context, { tenantId: source.tenantId, principalId, provisioningSource: source.key });
}

function displayNameOf(source: ScimSource, { displayName, externalId, userName }: UserContent): string {
  const name = displayName ?? (externalId === null ? userName : `${source.key}:${externalId}`);
  return [...name].slice(0, nameCharactersMax).join('');
}

/** The subject of the identity until the first sign-in provides the real one. */
function placeholderSubject(source: ScimSource, id: string): string {
  return [...`urn:iam:scim:${source.key}:${id}`].slice(0, subjectCharactersMax).join('');
}
