import { isTemporary } from '@baton/kernel/http/command';
import { docsOf } from '@baton/kernel/http/error-docs';
import {
  type ErrorEnvelope,
  InvalidRequest,
  Refusal,
  type RenderError,
  type RenderedError,
  UnstorableText,
} from '@baton/kernel/http/refusal';
import { oauthError } from '../issuing/oauth2/oauth2-errors.ts';
import { type ErrorCode, errors } from '../provisioning/errors.ts';
import { scimError } from '../provisioning/scim/protocol/scim-errors.ts';

/**
 * `schema` is the name of the error's schema in the API description.
 */
interface StandardEnvelope extends ErrorEnvelope {
  readonly schema: 'ScimError' | 'OauthError';
}

/** The groups of endpoints whose errors follow a standard: RFC 7644 (SCIM) and RFC 6749 (OAuth 2.0). */
export function standardEnvelopes(docsBaseUrl?: string): readonly StandardEnvelope[] {
  const render = errorRenderer(docsBaseUrl);
  return [
    { basePath: '/scim', schema: 'ScimError', render: renderScimError },
    {
      basePath: '/oauth2',
      schema: 'OauthError',
      render: (error, requestId) => oauthError(render(error, requestId)),
    },
  ];
}

/**
 * The usual envelope: a code or the list of validation problems, and the page that documents the code.
 */
export function errorRenderer(docsBaseUrl?: string): RenderError {
  return (error) => {
    const { code, ...rendered } = renderError(error);
    const docs = docsOf(docsBaseUrl, code);
    return docs === undefined ? rendered : { ...rendered, body: { ...rendered.body, docs } };
  };
}

interface CodedError extends RenderedError {
  readonly code: ErrorCode;
  readonly body: { readonly detail: unknown };
}

function renderError(error: unknown): CodedError {
  if (error instanceof Refusal && error.code in errors) {
    const code = error.code as ErrorCode;
    const status = error.status ?? errors[code].status;
    const { field } = error.details;
    const body = { detail: code, ...(typeof field === 'string' && { field }) };
    return { code, status, body, headers: error.headers };
  }
  if (error instanceof InvalidRequest) {
    const detail = error.problems.map(({ type, in: where, path, message }) => ({
      type,
      loc: [where, ...path],
      msg: message,
    }));
    return { code: 'invalid_request', status: 422, body: { detail } };
  }
  if (error instanceof UnstorableText) {
    const msg = 'must not contain NUL characters or unpaired surrogates';
    const detail = [{ type: error.code, loc: locationOf(error.path), msg }];
    return { code: 'validation_error', status: 422, body: { detail } };
  }
  if (isTemporary(error)) {
    const headers = { 'retry-after': '1' };
    return { code: 'unavailable', status: 503, body: { detail: 'unavailable' }, headers };
  }
  return { code: 'internal_error', status: 500, body: { detail: 'Internal Server Error' } };
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
