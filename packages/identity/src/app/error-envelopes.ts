import { isTemporary } from '@baton/kernel/http/command';
import {
  type ErrorEnvelope,
  InvalidRequest,
  Refusal,
  type RenderedError,
  UnstorableText,
} from '@baton/kernel/http/refusal';
import { oauthError } from '../issuing/oauth2/oauth2-errors.ts';
import { type ErrorCode, errors } from '../provisioning/errors.ts';
import { scimError } from '../provisioning/scim/protocol/scim-errors.ts';

/** A standard's form of errors; `schema` is its name in the API description. */
interface StandardEnvelope extends ErrorEnvelope {
  readonly schema: 'ScimError' | 'OauthError';
}

/** The groups of endpoints that answer errors as their standard wants it: RFC 7644 (SCIM) and RFC 6749 (OAuth 2.0). */
export const standardEnvelopes: readonly StandardEnvelope[] = [
  { basePath: '/scim', schema: 'ScimError', render: renderScimError },
  { basePath: '/oauth2', schema: 'OauthError', render: (error) => oauthError(renderError(error)) },
];

/** The usual envelope (contract, 1.8 to 1.13): a code, or the list of what is wrong with the form of a request. */
export function renderError(error: unknown): RenderedError {
  if (error instanceof Refusal && error.code in errors)
    return {
      status: error.status ?? errors[error.code as ErrorCode].status,
      body: { detail: error.code },
      headers: error.headers,
    };
  if (error instanceof InvalidRequest) {
    const detail = error.problems.map(({ type, in: where, path, message }) => ({
      type,
      loc: [where, ...path],
      msg: message,
    }));
    return { status: 422, body: { detail } };
  }
  if (error instanceof UnstorableText) {
    const msg = 'must not hold NUL characters or halves of surrogate pairs';
    return { status: 422, body: { detail: [{ type: error.code, loc: locationOf(error.path), msg }] } };
  }
  if (isTemporary(error))
    return { status: 503, body: { detail: 'unavailable' }, headers: { 'retry-after': '1' } };
  return { status: 500, body: { detail: 'Internal Server Error' } };
}

function renderScimError(error: unknown): RenderedError {
  if (error instanceof Refusal && error.code in errors)
    return scimError(error.code as ErrorCode, error.headers, error.details);
  if (error instanceof InvalidRequest) {
    const isUnreadable = error.problems.some(({ type }) => type === 'json_invalid');
    return scimError('invalid_request', {}, { isUnreadable });
  }
  if (error instanceof UnstorableText) return scimError('validation_error');
  if (isTemporary(error)) return scimError('unavailable', { 'retry-after': '1' });
  return scimError('internal_error');
}

/** `/amr/0` of a body, `query.reason`, `path.key` */
function locationOf(path: string): string[] {
  return path.startsWith('/') ? ['body', ...path.slice(1).split('/')] : path.split('.');
}
