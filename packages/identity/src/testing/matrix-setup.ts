import { join } from 'node:path';
import type { Operation } from '@baton/kernel/http/service';
import type { MatrixSetup } from '@baton/kernel/testing/matrix/matrix';
import { collectFixtures } from '@baton/kernel/testing/matrix/matrix-fixtures';
import type { MatrixCaller, MatrixRules, MatrixService } from '@baton/kernel/testing/matrix/matrix-service';
import { endpoints } from '../app/endpoints.ts';
import { bodyBytesMaxOf } from '../app/runtime.ts';
import { migrationsDirectory } from '../service/database.ts';
import { startUpstream } from '../sign-in/federation/testing/upstream.ts';
import { oauthSettings } from '../sign-in/oauth/testing/browser.ts';
import type { FixtureTenant } from './fixtures.ts';
import { adminHeader, delegationHeader, startIdentity, testSigningKey } from './identity.ts';
import { makeProvisioning } from './provisioning.ts';
import { scimCodeOf, scimRules } from './scim-matrix.ts';

const adminRules: MatrixRules = {
  unauthenticated: { status: 401, code: 'unauthorized' },
  invalid: { status: 422, code: 'a list' },
  unstorable: { status: 422, code: 'a list' },
  tooLarge: { status: 413, code: 'request_too_large' },
  wrongMethod: { status: 405, code: 'method_not_allowed' },
  keyRequired: { status: 400, code: 'idempotency_key_required' },
  keyTooLong: { status: 422, code: 'a list' },
};

/** RFC 6749 has one code for all malformed requests. */
const oauthRules: MatrixRules = {
  ...adminRules,
  invalid: { status: 400, code: 'invalid_request' },
  unstorable: { status: 400, code: 'invalid_request' },
  tooLarge: { status: 413, code: 'invalid_request' },
  wrongMethod: { status: 405, code: 'invalid_request' },
};

/** Tests every endpoint of identity against the general rules (see docs/reference/directory.md#conventions). */
export const matrixSetup: MatrixSetup<FixtureTenant> = {
  service: 'identity',
  basePath: '/api/v1',
  endpoints,
  rulesOf: ({ auth, path }) =>
    auth === 'provisioning' ? scimRules : path.startsWith('/oauth2/') ? oauthRules : adminRules,
  codeOf(body) {
    const scimCode = scimCodeOf(body);
    if (scimCode !== undefined) return scimCode;
    const { detail, error } = (body ?? {}) as { detail?: unknown; error?: unknown };
    if (typeof error === 'string') return error;
    if (Array.isArray(detail)) return detail.every(isProblem) ? 'a list' : undefined;
    return typeof detail === 'string' ? detail : undefined;
  },
  keyRequired: ({ errors }) => errors.includes('idempotency_key_required'),
  bodyBytesMax: bodyBytesMaxOf,
  sizeBeforeCredential: ({ auth }) => auth !== undefined,
  ignoresUnknownFields: ({ auth, path }) => auth === 'provisioning' || path.startsWith('/oauth2/'),
  fixtures: await collectFixtures<FixtureTenant>(join(import.meta.dirname, '..')),
  migrationsDirectory,
  // Audit records are ignored, because a refused attempt is recorded, too.
  ignoredChanges: ['audit_records'],
  start,
};

/** The body is `{type, loc[], msg}` and never contains the input. */
function isProblem(problem: unknown): boolean {
  const { type, loc, msg, ...rest } = problem as Record<string, unknown>;
  return (
    typeof type === 'string' &&
    Array.isArray(loc) &&
    typeof msg === 'string' &&
    Object.keys(rest).length === 0
  );
}

/** The kinds of authentication with the credential in the body, or without a credential. */
const noHeader = ['presented', 'none'];

async function start(): Promise<MatrixService<FixtureTenant>> {
  const identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
    ...oauthSettings,
  });
  const upstream = await startUpstream();
  const tenant = { identity, upstream, source: await makeProvisioning(identity) };
  const otherTenant = { identity, upstream, source: await makeProvisioning(identity) };

  function headersOf({ auth }: Operation, caller: MatrixCaller): Record<string, string> | undefined {
    if (caller === 'anonymous') return auth !== undefined && noHeader.includes(auth) ? undefined : {};
    if (caller !== 'allowed') return undefined;
    if (auth === 'provisioning') return { authorization: `Bearer ${tenant.source.token}` };
    if (auth === 'delegation') return delegationHeader;
    return auth === undefined ? adminHeader : {};
  }

  return {
    url: identity.url,
    databaseUrl: identity.databaseUrl,
    env: identity.env,
    tenant,
    otherTenant,
    headersOf,
    async close() {
      await identity.close();
      await upstream.close();
    },
  };
}
