import { z } from 'zod';
import type { RowOf } from '@baton/kernel/database/row';
import { Timestamp, Uuid } from '@baton/values/wire';
import { characters, Issuer, Status } from '../../service/fields.ts';
import type { Tables } from '../../service/schema.ts';

export type ExternalIdentityRow = Pick<
  RowOf<Tables['external_identities']>,
  'id' | 'principal_id' | 'issuer' | 'subject' | 'status' | 'created_at'
>;

export const ExternalIdentity = z
  .strictObject({
    id: Uuid,
    principal_id: Uuid,
    issuer: z.string(),
    subject: z.string(),
    status: Status,
    created_at: Timestamp,
  })
  .meta({ id: 'ExternalIdentity' });

/** Issuer and subject together form one index entry, which PostgreSQL limits to 2,704 bytes including its overhead. */
const identityBytesMax = 2600;

export const NewExternalIdentity = z
  .strictObject({ issuer: Issuer, subject: characters(1, 500) })
  .refine(
    ({ issuer, subject }) => Buffer.byteLength(issuer) + Buffer.byteLength(subject) <= identityBytesMax,
    {
      path: ['subject'],
      message: `issuer and subject must have at most ${identityBytesMax} bytes together`,
    },
  )
  .meta({ id: 'NewExternalIdentity' });
export type NewExternalIdentity = z.infer<typeof NewExternalIdentity>;
