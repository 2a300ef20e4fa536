import { createPrivateKey, randomUUID } from 'node:crypto';
import { after, before } from 'node:test';
import { SignJWT } from 'jose';
import {
  type Attempt,
  attemptOf,
  type CheckOrder,
  type Fault,
  fault,
  orderTests,
} from '../../testing/check-order.ts';
import { absent, storeFaults, without } from '../../testing/faults.ts';
import { makeRsaKey, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made } from '../../testing/objects.ts';
import { makeProvisioning } from '../../testing/provisioning.ts';
import { patchUrn, scimClient } from '../../testing/scim-client.ts';
import type { ErrorCode } from '../errors.ts';

/** Tests the order of checks of a SCIM request: docs/reference/scim.md#access and docs/reference/scim.md#users. */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const ownKey = createPrivateKey(testSigningKey());
const foreignKey = createPrivateKey(makeRsaKey(3072));
const { store, closedTenant } = storeFaults(() => identity);

/** A request with an access token of the service account, signed after all faults are set up. */
interface ScimAttempt extends Attempt {
  readonly claims: Record<string, unknown>;
  /** A provisioning token of the same source, for objects that the test creates itself. */
  readonly directory: string;
  isForged: boolean;
  writesUpstream: boolean;
}

async function prepare(body?: object): Promise<ScimAttempt> {
  const { tenantId, sourceId, providerId, account, token } = await makeProvisioning(identity);
  const { clientId, principalId } = account;
  const [row] = await identity.pool.rows<{ id: string }>({
    text: 'select id from service_accounts where client_id = $1',
    values: [clientId],
  });
  const nowSeconds = Math.floor(Date.now() / 1000);
  const claims = {
    iss: 'http://localhost:8010/iam',
    sub: principalId,
    tenant_id: tenantId,
    aud: 'iam-scim',
    scope: ['scim:write'],
    principal_type: 'service_account',
    credential_id: row?.id,
    iat: nowSeconds,
    nbf: nowSeconds,
    exp: nowSeconds + 300,
    jti: randomUUID(),
  };
  const headers = { authorization: 'to come', ...(body && { 'content-type': 'application/scim+json' }) };
  const attempt = attemptOf({ tenantId, sourceId, providerId, principalId }, body, headers);
  return { ...attempt, claims, directory: token, isForged: false, writesUpstream: false };
}

async function finish({ headers, claims, ids, isForged, writesUpstream }: ScimAttempt): Promise<void> {
  if (writesUpstream) {
    await store`
      update provisioning_sources set upstream_mode = 'scim', upstream_base_url = 'https://login.example.com'
      where id = ${ids['sourceId']}`;
    await store`update scim_users set upstream_id = id where provisioning_source_id = ${ids['sourceId']}`;
  }
  const token = await new SignJWT(claims)
    .setProtectedHeader({ alg: 'RS256', typ: 'at+jwt', kid: 'local-dev' })
    .sign(isForged ? foreignKey : ownKey);
  if ('authorization' in headers) headers['authorization'] = `Bearer ${token}`;
}

const restore = ({ ids }: ScimAttempt) => store`
  with tenant as (update tenants set status = 'active' where id = ${ids['tenantId']}),
    account as (update service_accounts set revoked_at = null where principal_id = ${ids['principalId']}),
    provider as (update identity_providers set status = 'active' where id = ${ids['providerId']}),
    users as (update scim_users set upstream_id = null where provisioning_source_id = ${ids['sourceId']})
  update provisioning_sources set status = 'active', upstream_mode = 'off', upstream_base_url = ''
  where id = ${ids['sourceId']}`;

const claiming = (claims: object) => (attempt: ScimAttempt) => Object.assign(attempt.claims, claims);

const access: readonly Fault<ScimAttempt>[] = [
  fault('scim_unauthorized', without('authorization'), 'no token'),
  fault('scim_unauthorized', (attempt) => (attempt.isForged = true), 'signature'),
  fault('scim_unauthorized', claiming({ aud: 'control-plane' }), 'audience'),
  fault('scim_unauthorized', claiming({ iss: 'https://login.example.com' }), 'issuer'),
  fault('scim_unauthorized', claiming({ exp: 1 }), 'expired'),
  fault('scim_unauthorized', claiming({ jti: undefined }), 'claims'),
  fault('scim_service_identity_required', claiming({ principal_type: 'human' })),
  fault('scim_scope_required', claiming({ scope: ['scim:other'] })),
  fault('scim_unauthorized', closedTenant, 'tenant'),
  fault(
    'scim_unauthorized',
    ({ ids }) =>
      store`update service_accounts set revoked_at = now() where principal_id = ${ids['principalId']}`,
    'revoked',
  ),
  fault(
    'scim_source_required',
    ({ ids }) => store`update provisioning_sources set status = 'disabled' where id = ${ids['sourceId']}`,
  ),
  fault(
    'scim_identity_provider_inactive',
    ({ ids }) => store`update identity_providers set status = 'disabled' where id = ${ids['providerId']}`,
  ),
];
const accessWithBody: readonly Fault<ScimAttempt>[] = [
  ...access,
  fault('scim_unsupported_media_type', ({ headers }) => (headers['content-type'] = 'text/plain')),
  fault('a list', (attempt) => (attempt.body = '{'), 'no JSON'),
];
const outside: readonly ErrorCode[] = [
  'scim_unauthorized',
  'scim_service_identity_required',
  'scim_scope_required',
  'scim_source_required',
  'scim_identity_provider_inactive',
  'scim_unsupported_media_type',
];

type Noun = 'Users' | 'Groups';
const nameOf = (noun: Noun) => (noun === 'Users' ? 'userName' : 'displayName');
const newBody = (noun: Noun) => ({ [nameOf(noun)]: randomUUID() });

/** A user of the source. */
async function withResource(noun: Noun, body?: object): Promise<ScimAttempt> {
  const attempt = await prepare(body);
  const { id } = await made(scimClient(identity, attempt.directory).post(`/${noun}`, newBody(noun)));
  attempt.ids['id'] = id;
  attempt.headers['if-match'] = 'W/"1"';
  return attempt;
}

const existing: readonly Fault<ScimAttempt>[] = [
  fault('scim_not_found', absent('id')),
  fault('scim_version_mismatch', ({ headers }) => (headers['if-match'] = 'W/"7"')),
];
/** Another user of the source has the requested name. */
const takenName = (noun: Noun) => async (attempt: ScimAttempt) => {
  const wanted = newBody(noun);
  await made(scimClient(identity, attempt.directory).post(`/${noun}`, wanted));
  const [operation] = attempt.body.Operations ?? [];
  if (operation === undefined) Object.assign(attempt.body, wanted);
  else operation.value = Object.values(wanted)[0];
};

/** The source has an upstream directory without credentials, and the request would write there. */
const upstream = (noun: Noun) =>
  noun === 'Users'
    ? [
        fault('scim_upstream_refused', async (attempt: ScimAttempt) => {
          attempt.writesUpstream = true;
          const { body } = attempt;
          if (body?.Operations !== undefined)
            body.Operations.push({ op: 'replace', path: 'active', value: false });
          else if (body !== undefined) body.active = false;
        }),
      ]
    : [];

const renaming = (noun: Noun) => ({
  schemas: [patchUrn],
  Operations: [{ op: 'replace', path: nameOf(noun), value: randomUUID() }],
});

const ordersOf = (noun: Noun): CheckOrder<ScimAttempt>[] => [
  {
    endpoint: `POST /scim/v2/${noun}`,
    prepare: () => prepare(newBody(noun)),
    faults: [
      ...accessWithBody,
      fault('scim_invalid_value', ({ body }) => (body[nameOf(noun)] = '')),
      fault('scim_uniqueness', takenName(noun)),
      ...upstream(noun),
    ],
    besides: outside,
    proven: noun === 'Users' ? [] : accessWithBody,
    finish,
    restore,
  },
  {
    endpoint: `GET /scim/v2/${noun}/{id}`,
    prepare: () => withResource(noun),
    faults: [...access, fault('scim_not_found', absent('id'))],
    // A group with more than 100,000 members.
    besides: noun === 'Groups' ? [...outside, 'scim_too_many'] : outside,
    proven: accessWithBody,
    finish,
    restore,
  },
  {
    endpoint: `PUT /scim/v2/${noun}/{id}`,
    prepare: () => withResource(noun, newBody(noun)),
    faults: [
      ...accessWithBody,
      ...existing,
      fault('scim_invalid_value', ({ body }) => (body[nameOf(noun)] = '')),
      fault('scim_uniqueness', takenName(noun)),
      ...upstream(noun),
    ],
    besides: outside,
    proven: accessWithBody,
    finish,
    restore,
  },
  {
    endpoint: `PATCH /scim/v2/${noun}/{id}`,
    prepare: () => withResource(noun, renaming(noun)),
    faults: [
      ...accessWithBody,
      ...existing,
      fault('scim_invalid_syntax', ({ body }) => (body.Operations[0].op = 'increase')),
      fault('scim_uniqueness', takenName(noun)),
      ...upstream(noun),
    ],
    // These codes have no fixed order, because operations are checked one after another.
    besides: [
      ...outside,
      'scim_invalid_value',
      'scim_invalid_path',
      'scim_mutability',
      'scim_no_target',
      'scim_too_many',
    ],
    proven: accessWithBody,
    finish,
    restore,
  },
  {
    endpoint: `DELETE /scim/v2/${noun}/{id}`,
    prepare: () => withResource(noun),
    faults: [...access, ...existing, ...upstream(noun)],
    besides: outside,
    proven: accessWithBody,
    finish,
    restore,
  },
];

orderTests(() => identity, [...ordersOf('Users'), ...ordersOf('Groups')]);
