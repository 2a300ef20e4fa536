import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { pagesByCreation } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';
import { PrincipalKind, type PrincipalRow, PrincipalStatus } from '../principals/principal.ts';
import { Source } from './group.ts';

type MembershipColumns = RowOf<Tables['group_members']>;

/** The response to a new membership. */
export type MembershipRow = Pick<MembershipColumns, 'id' | 'tenant_id' | 'group_id' | 'principal_id'>;

/** A principal, with the source and the start of its membership. */
export type MemberRow = Pick<PrincipalRow, 'id' | 'kind' | 'display_name' | 'status'> &
  Pick<MembershipColumns, 'source' | 'created_at'>;

export const GroupMembership = z
  .strictObject({ id: Uuid, tenant_id: Uuid, group_id: Uuid, principal_id: Uuid })
  .meta({ id: 'GroupMembership' });

export const GroupMember = z
  .strictObject({
    principal_id: Uuid,
    kind: PrincipalKind,
    display_name: z.string(),
    status: PrincipalStatus.describe('Of the principal.'),
    source: Source.describe('The source of the membership.'),
    created_at: Timestamp.describe('When the membership began.'),
  })
  .meta({ id: 'GroupMember' });

export const memberOf = wireMapper<MemberRow>()(GroupMember, { principal_id: ({ id }) => id });

export const NewGroupMember = z.strictObject({ principalId: Uuid }).meta({ id: 'NewGroupMember' });

export const memberPages = pagesByCreation('group-members', GroupMember);
