import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import { NameSearch, queryUuids, Timestamp, Uuid } from '@baton/values/wire';
import { Name } from '../../service/fields.ts';
import { pagesByCreation } from '../../service/pages.ts';
import type { Tables } from '../../service/schema.ts';

/** The columns of a principal that are returned or checked; only statements use the others. */
export type PrincipalRow = Pick<
  RowOf<Tables['principals']>,
  'id' | 'kind' | 'display_name' | 'status' | 'created_at'
>;

export const PrincipalKind = z.enum(['human', 'agent', 'service_account', 'workload']);
export const PrincipalStatus = z.enum(['active', 'paused', 'disabled']);

export const Principal = z
  .strictObject({
    id: Uuid,
    kind: PrincipalKind,
    display_name: z.string(),
    status: PrincipalStatus,
    created_at: Timestamp,
  })
  .meta({ id: 'Principal' });
export type Principal = z.infer<typeof Principal>;

export const principalOf = wireMapper<PrincipalRow>()(Principal, {});

export const NewPrincipal = z
  .strictObject({ kind: PrincipalKind, displayName: Name })
  .meta({ id: 'NewPrincipal' });
export type NewPrincipal = z.infer<typeof NewPrincipal>;

export const PrincipalChange = z.strictObject({ displayName: Name }).meta({ id: 'PrincipalChange' });

export const principalPages = pagesByCreation('principals', Principal);

export const principalQuery = {
  ...principalPages.query,
  kind: PrincipalKind.optional(),
  status: PrincipalStatus.optional(),
  ids: queryUuids(100)
    .optional()
    .describe('Only these, by their ids, separated by commas, at most 100; `q` is then ignored.'),
  q: NameSearch.optional().describe(
    'Case-insensitive words, each of which must be a prefix of a word of the display name, or of the user name in a directory; at most 200 characters and 10 words. A blank query matches all principals.',
  ),
};
export type PrincipalQuery = z.infer<z.ZodObject<typeof principalQuery>>;
