import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import {
  type Attempt,
  attemptOf,
  type CheckOrder,
  type Fault,
  fault,
  orderTests,
} from '../testing/check-order.ts';
import { storeFaults, withFields } from '../testing/faults.ts';
import { startIdentity, type TestIdentity, testSigningKey } from '../testing/identity.ts';
import {
  makeBearer,
  makePrincipal,
  makeServiceAccount,
  readScope,
  signIn,
  writeScope,
} from '../testing/objects.ts';
import { auditOf } from '../testing/records.ts';

/** Tests the orders of checks of endpoints with the credential in the body: docs/reference/tokens.md#resolve. */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

const {
  store,
  closedTenant,
  noMember,
  pausedPrincipal,
  ofKind,
  closedAudiences,
  revokedToken,
  expiredToken,
} = storeFaults(() => identity);

/** The other reasons that close a credential, in the order of their checks. */
const ownerFaults: readonly (readonly [reason: string, put: Fault['put']])[] = [
  ['tenant_not_active', closedTenant],
  ['membership_not_active', noMember],
  ['principal_not_active', pausedPrincipal],
];

const tokenFaults: typeof ownerFaults = [
  ['credential_revoked', revokedToken],
  ['credential_expired', expiredToken],
  ...ownerFaults,
];

const accountFaults: typeof ownerFaults = [
  [
    'service_account_revoked',
    ({ ids }) => store`update service_accounts set revoked_at = now() where id = ${ids['credentialId']}`,
  ],
  ...ownerFaults,
];

const unknownField = fault('a list', withFields({ nobody: 'asked' }), 'unknown field');

async function withToken(more: object): Promise<Attempt> {
  const { tenantId, principalId, credential, token } = await makeBearer(identity);
  const ids = { tenantId, principalId, credentialId: credential.id };
  return attemptOf(ids, { token, ...more }, {});
}

async function withClient(): Promise<Attempt> {
  const { tenantId } = await makeBearer(identity);
  const { principalId, clientId, clientSecret } = await makeServiceAccount(identity, tenantId);
  const [row] = await identity.pool.rows(sql<{ id: string }>`
    select id from service_accounts where client_id = ${clientId}`);
  const ids = { tenantId, principalId, credentialId: row?.id ?? '' };
  return attemptOf(ids, { clientId, clientSecret, audience: 'control-plane', scopes: [readScope] }, {});
}

const wrongToken = [
  fault('invalid_token', withFields({ token: `iam_pat_${'0'.repeat(12)}_x` }), 'unknown prefix'),
  fault('invalid_token', ({ body }) => (body.token += 'x'), 'wrong secret'),
  fault('invalid_token', ({ body }) => (body.token = ` ${body.token}`), 'another form'),
];
const closed = (code: 'invalid_token' | 'invalid_client', faults: typeof ownerFaults) =>
  faults.map(([reason, put]) => fault(code, put, reason));

const exchangeOrder: CheckOrder = {
  endpoint: 'POST /platform-access-tokens:exchange',
  prepare: () => withToken({ audience: 'control-plane', scopes: [readScope] }),
  faults: [
    unknownField,
    fault('a list', withFields({ audience: '' }), 'audience'),
    ...wrongToken,
    ...closed('invalid_token', tokenFaults),
    fault('audience_not_allowed', closedAudiences, 'not active'),
    fault('audience_not_allowed', withFields({ audience: 'unknown' }), 'not in the list'),
    fault('scope_not_allowed', withFields({ scopes: [readScope, 'control-plane:admin'] })),
  ],
};
const introspectOrder: CheckOrder = {
  endpoint: 'POST /platform-access-tokens:introspect',
  prepare: () => withToken({}),
  faults: [unknownField, ...wrongToken, ...closed('invalid_token', tokenFaults)],
};
const revokeSelfOrder: CheckOrder = {
  endpoint: 'POST /platform-access-tokens:revoke-self',
  prepare: () => withToken({}),
  faults: [
    unknownField,
    fault('a list', withFields({ reason: 'x'.repeat(201) }), 'reason'),
    ...wrongToken,
    ...closed('invalid_token', tokenFaults),
  ],
};
const clientOrder: CheckOrder = {
  endpoint: 'POST /tokens/exchange',
  prepare: withClient,
  faults: [
    unknownField,
    fault('invalid_client', withFields({ clientId: 'iam_sa_nobody' }), 'unknown client'),
    fault('invalid_client', withFields({ clientSecret: 'wrong' }), 'wrong secret'),
    ...closed('invalid_client', accountFaults),
    fault('audience_not_allowed', closedAudiences, 'not active'),
    fault('audience_not_allowed', withFields({ audience: 'unknown' }), 'not in the list'),
    fault('scope_not_allowed', withFields({ scopes: [writeScope] }), 'outside of the ceiling'),
  ],
};
orderTests(() => identity, [exchangeOrder, introspectOrder, revokeSelfOrder, clientOrder]);

/** The client always gets the same code; the audit log has the first reason. */
function reasonTest(path: string, action: string, order: CheckOrder, faults: typeof ownerFaults): void {
  test(`of several reasons ${path} audits the first, and no other`, async () => {
    for (const [first, [reason, put]] of faults.entries())
      for (const [later, putToo] of faults.slice(first)) {
        const attempt = await order.prepare();
        if (later !== reason) await putToo(attempt);
        await put(attempt);
        const { tenantId = '', principalId, credentialId } = attempt.ids;
        const rows = (await auditOf(identity, tenantId)).length;
        const answer = await identity.request('POST', `/api/v1${path}`, { body: attempt.body });
        assert.equal(answer.status, 401);
        const left = (await auditOf(identity, tenantId)).slice(rows);
        const named = `${reason} before ${later}`;
        assert.deepEqual(
          left.map((row) => [row.action, row.outcome, row.actor_ref, row.resource_id]),
          [[action, 'denied', principalId, credentialId]],
          named,
        );
        assert.equal(left[0]?.reason.split(' ').at(-1), reason, named);
      }
  });
}
const tokenPath = '/platform-access-tokens:';
const tokenAction = 'platform_access_tokens';
reasonTest(`${tokenPath}exchange`, `${tokenAction}.exchange`, exchangeOrder, tokenFaults);
reasonTest(`${tokenPath}introspect`, `${tokenAction}.introspect`, introspectOrder, tokenFaults);
reasonTest(`${tokenPath}revoke-self`, `${tokenAction}.revoke`, revokeSelfOrder, tokenFaults);
reasonTest('/tokens/exchange', 'tokens.exchange', clientOrder, accountFaults);

/** Events that can follow a response; none of them affects a repetition of the request. */
const laterEvents: Readonly<Record<string, Fault['put']>> = {
  ...Object.fromEntries(tokenFaults),
  kind: ofKind('workload'),
  'no sign-in': ({ ids }) => store`
    update authentication_contexts set recorded_at = now() - interval '1 day'
    where principal_id = ${ids['principalId']}`,
  audience: closedAudiences,
};

async function repeatedAfter(path: string, ids: Record<string, string>, body: object): Promise<void> {
  const headers = { 'idempotency-key': randomUUID() };
  const first = await identity.post(path, body, headers);
  assert.equal(first.status, 201);
  assert.equal(first.headers.get('idempotency-replayed'), null);
  const { id } = first.body.credential;
  for (const [event, put] of Object.entries(laterEvents)) {
    await put(attemptOf({ ...ids, credentialId: id }));
    const again = await identity.post(path, body, headers);
    assert.deepEqual([again.status, again.body.token, again.body.credential.id], [201, null, id], event);
    assert.equal(again.headers.get('idempotency-replayed'), 'true');
  }
  const { revokedAt } = (await identity.post(path, body, headers)).body.credential;
  assert.notEqual(revokedAt, null, 'the credential as it is now');
}

test('a key that was answered is replayed whatever has happened since', async () => {
  const { tenantId } = await makeBearer(identity);
  const principalId = await makePrincipal(identity, tenantId, 'human');
  await signIn(identity, tenantId, principalId);
  const wanted = { name: 'x', audiences: ['control-plane'], scopeCeiling: [readScope] };
  const ids = { tenantId, principalId };
  await repeatedAfter(`/tenants/${tenantId}/principals/${principalId}/platform-access-tokens`, ids, wanted);
  const other = await makeBearer(identity);
  const path = `/tenants/${other.tenantId}/platform-access-tokens/${other.credential.id}:rotate`;
  await repeatedAfter(path, { tenantId: other.tenantId, principalId: other.principalId }, {});
});
