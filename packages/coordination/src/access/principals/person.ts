import { z } from 'zod';
import { Timestamp, Uuid } from '@baton/values/wire';
import { principalKinds, principalStatuses } from './principal.ts';

/** An identity with which somebody signs in: the record in identity of the same person or agent. */
const BoundIdentity = z
  .strictObject({
    bindingId: Uuid,
    issuer: z.string(),
    iamTenantId: Uuid,
    iamPrincipalId: Uuid,
    status: z.enum(['active', 'disabled']),
    lastUsedAt: Timestamp.nullable(),
  })
  .meta({ id: 'BoundIdentity' });

/** A person, an agent or a service with its access, under one name. See docs/reference/access.md#people. */
export const Person = z
  .strictObject({
    id: Uuid,
    kind: z.enum(principalKinds),
    displayName: z.string(),
    status: z.enum(principalStatuses),
    email: z.string().nullable(),
    agent: z.string().nullable().meta({ description: 'The key of its agent in the registry.' }),
    accessRole: z.string().nullable().meta({
      description: 'The access role of all its identities; `null` if they have none or not the same one.',
    }),
    permissions: z.array(z.string()).meta({ description: 'The effective permissions of its identities.' }),
    identities: z.array(BoundIdentity).meta({
      description:
        'The bound identities that are not revoked, newest first: at most 20, and before them those in `iamPrincipalIds`.',
    }),
    formerIamPrincipalIds: z.array(Uuid).meta({
      description:
        'The ids at identity of revoked bindings, newest first: at most 20, and before them those in `iamPrincipalIds`.',
    }),
    liveApiKeys: z.int().min(0),
    lastUsedAt: Timestamp.nullable().meta({ description: 'When an identity or an API key was last used.' }),
    createdAt: Timestamp,
  })
  .meta({ id: 'Person' });
export type Person = z.infer<typeof Person>;
