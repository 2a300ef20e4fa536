import type { Details } from '@baton/kernel/http/refusal';
import { type ErrorCode, errors } from '../../errors.ts';

const errorUrn = 'urn:ietf:params:scim:api:messages:2.0:Error';
export const scimMediaType = 'application/scim+json';

const scimTypes: Partial<Record<ErrorCode, string>> = {
  scim_invalid_value: 'invalidValue',
  invalid_request: 'invalidValue',
  validation_error: 'invalidValue',
  scim_invalid_filter: 'invalidFilter',
  scim_invalid_path: 'invalidPath',
  scim_invalid_syntax: 'invalidSyntax',
  scim_no_target: 'noTarget',
  scim_mutability: 'mutability',
  scim_too_many: 'tooMany',
  scim_uniqueness: 'uniqueness',
};

/**
 * An error in the form of RFC 7644, section 3.12. It never repeats the input.
 * @param details `attribute`: the schema name of the attribute with the invalid value; `bytesMax` of a resource that is
 * too large; `isUnreadable` for a body that isn't JSON
 */
export function scimError(
  code: ErrorCode,
  headers: Readonly<Record<string, string>> = {},
  { attribute, bytesMax, isUnreadable }: Details = {},
) {
  const isForm = code === 'invalid_request' || code === 'validation_error';
  const status = isForm ? 400 : errors[code].status;
  const scimType = isUnreadable === true ? 'invalidSyntax' : scimTypes[code];
  return {
    status,
    body: {
      schemas: [errorUrn],
      status: String(status),
      ...(scimType === undefined ? {} : { scimType }),
      detail: [
        isForm ? 'The request does not have the format that RFC 7644 requires.' : errors[code].when,
        ...(attribute === undefined ? [] : [`It is the value of \`${attribute}\`.`]),
        ...(bytesMax === undefined ? [] : [`A resource has at most ${bytesMax} bytes.`]),
      ].join(' '),
    },
    headers: { ...headers, 'content-type': scimMediaType },
  };
}
