import { z } from 'zod';
import { AccessRoleRef } from '../../grants/granted-access.ts';
import { IamBinding, IdentityMembers } from '../../iam-bindings/iam-binding.ts';
import { Principal } from '../principal.ts';

/** A person who was admitted: their principal, and the binding of their identity. */
export const Admission = z
  .strictObject({ principal: Principal, binding: IamBinding })
  .meta({ id: 'Admission' });
export type Admission = z.infer<typeof Admission>;

export const AdmissionRequest = IdentityMembers.extend({
  displayName: z.string().min(1).max(200),
  email: z.string().min(3).max(320).nullable().default(null),
  accessRole: AccessRoleRef.meta({ description: 'The key or the id of an access role.' }),
  visibility: z.enum(['tenant', 'members']).default('tenant'),
}).meta({ id: 'AdmissionRequest' });
export type AdmissionRequest = z.output<typeof AdmissionRequest>;

/** Below the size limit of a header, like access tokens. */
const statementCharactersMax = 12_288;

export const SelfAdmissionRequest = z
  .strictObject({
    statement: z.string().min(1).max(statementCharactersMax).meta({
      description: 'The `admissionStatement` of `federation:exchange` of identity.',
    }),
  })
  .meta({ id: 'SelfAdmissionRequest' });
