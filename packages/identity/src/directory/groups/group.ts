import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { Key, Name, Status, tenantParam } from '../../service/fields.ts';
import { pagesByCreation } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';

/** A group that isn't deleted. */
export type GroupRow = Omit<RowOf<Tables['groups']>, 'deleted_at'>;

export const Source = z.enum(['local', 'federated', 'scim']);

/** The response to a new group. */
export const CreatedGroup = z
  .strictObject({ id: Uuid, tenant_id: Uuid, key: z.string(), name: z.string(), status: Status })
  .meta({ id: 'CreatedGroup' });
export type CreatedGroup = z.infer<typeof CreatedGroup>;

export const Group = CreatedGroup.extend({
  source: Source.describe('The manager of the group: the admin, an identity provider, or a directory.'),
  created_at: Timestamp,
}).meta({ id: 'Group' });

export const groupOf = wireMapper<GroupRow>()(Group, {});

export const NewGroup = z.strictObject({ key: Key, name: Name }).meta({ id: 'NewGroup' });
export type NewGroup = z.infer<typeof NewGroup>;

/** The key never changes, because scopes and mappings refer to it. */
export const GroupChange = z
  .strictObject({
    name: Name.optional(),
    status: Status.optional().describe(
      'A `disabled` group does not entitle its members to a privileged scope.',
    ),
  })
  .meta({ id: 'GroupChange' });
export type GroupChange = z.infer<typeof GroupChange>;

export const groupParams = { ...tenantParam, groupId: Uuid };

export const groupPages = pagesByCreation('groups', Group);

export const groupQuery = { ...groupPages.query, source: Source.optional(), status: Status.optional() };
export type GroupQuery = z.infer<z.ZodObject<typeof groupQuery>>;
