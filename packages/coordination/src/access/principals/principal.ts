import { z } from 'zod';
import { type RowOf, wireMapper } from '@baton/kernel/database/row';
import {
  FreeObject,
  freeObjectOf,
  type JsonObject,
  queryWordCharactersMax,
  Timestamp,
  Uuid,
} from '@baton/values/wire';
import { documentBytesMax } from '../../service/documents.ts';
import type { Tables } from '../../service/schema.ts';

export const principalKinds = ['human', 'agent', 'service'] as const;
export const principalStatuses = ['active', 'paused', 'disabled'] as const;

export const Profile = z.strictObject({
  jobTitle: z.string().nullable(),
  email: z.string().nullable(),
  phone: z.string().nullable(),
  note: z.string().nullable(),
});
export type Profile = z.infer<typeof Profile>;

/** A human, agent or service that acts inside a tenant. See docs/reference/access.md#principals. */
export const Principal = z
  .strictObject({
    id: Uuid,
    tenantId: Uuid,
    kind: z.enum(principalKinds),
    displayName: z.string(),
    status: z.enum(principalStatuses),
    metadata: FreeObject,
    profile: Profile,
    version: z.int().positive(),
    createdAt: Timestamp,
    updatedAt: Timestamp,
  })
  .meta({ id: 'Principal' });
export type Principal = z.infer<typeof Principal>;

/** An enabled principal with the number of its API keys that are accepted again. */
export const EnabledPrincipal = Principal.extend({ liveApiKeys: z.int() }).meta({ id: 'EnabledPrincipal' });
export type EnabledPrincipal = z.infer<typeof EnabledPrincipal>;

const displayName = z.string().min(1).max(200);
const profileText = (charactersMax: number) => z.string().max(charactersMax).nullable().default(null);

export const PrincipalRequest = z
  .strictObject({
    kind: z.string().max(queryWordCharactersMax),
    displayName,
    status: z.string().max(queryWordCharactersMax).default('active'),
    metadata: freeObjectOf(documentBytesMax).default({}),
  })
  .meta({ id: 'PrincipalRequest' });
export type PrincipalRequest = z.output<typeof PrincipalRequest>;

/** The profile is replaced as a whole: a missing field is cleared. */
export const PrincipalChange = z
  .strictObject({
    displayName: displayName.nullable().optional(),
    profile: z
      .strictObject({
        jobTitle: profileText(200),
        email: profileText(320),
        phone: profileText(50),
        note: profileText(2000),
      })
      .nullable()
      .optional(),
    metadata: freeObjectOf(documentBytesMax).nullable().optional(),
  })
  .meta({ id: 'PrincipalChange' });
export type PrincipalChange = z.output<typeof PrincipalChange>;

export type PrincipalRow = RowOf<Tables['principals'], { metadata: JsonObject; profile: Partial<Profile> }>;

export const principalOf = wireMapper<PrincipalRow>()(Principal, {
  profile: ({ profile }) => ({ jobTitle: null, email: null, phone: null, note: null, ...profile }),
});
