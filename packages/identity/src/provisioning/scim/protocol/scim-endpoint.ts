import { z } from 'zod';
import type { ErrorCode } from '../../errors.ts';
import { scimForm } from './scim-answer.ts';

/** The common part of the declarations of SCIM endpoints. */
export const scim = { root: true, auth: 'provisioning', looseQuery: true } as const;

/**
 * A write opens its own transaction after it has waited in the queue of its source and after the upstream directory has
 * been called.
 */
export const scimWrite = { ...scim, transaction: 'none' } as const;

export const idParam = { id: z.string().max(1000) };

export const listErrors = ['scim_invalid_value', 'scim_invalid_filter', 'scim_too_many'] as const;

export const patchErrors = [
  'scim_not_found',
  'scim_version_mismatch',
  'scim_invalid_syntax',
  'scim_invalid_value',
  'scim_invalid_path',
  'scim_mutability',
  'scim_no_target',
  'scim_too_many',
  'scim_uniqueness',
] as const satisfies ErrorCode[];

export const patchUrn = 'urn:ietf:params:scim:api:messages:2.0:PatchOp';

const searchUrn = 'urn:ietf:params:scim:api:messages:2.0:SearchRequest';

export const searchExample = { schemas: [searchUrn], filter: 'displayName sw "A"', count: 10 };

export const ScimSearch = scimForm('ScimSearch', searchExample);

export const ScimPatch = scimForm('ScimPatch', {
  schemas: [patchUrn],
  Operations: [{ op: 'replace', path: 'displayName', value: 'Ada Lovelace' }],
});
