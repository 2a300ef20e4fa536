import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, test } from 'node:test';
import { endpointName, type Operation, pathOf } from '@baton/kernel/http/service';
import { bearer, issueToken } from '../sign-in/administration-tokens/testing/administration.ts';
import { makePerson, type Person } from '../sign-in/passkeys/testing/people.ts';
import {
  adminHeader,
  delegationHeader,
  startIdentity,
  type TestIdentity,
  testSigningKey,
} from '../testing/identity.ts';
import { makeTenant } from '../testing/objects.ts';
import { isPathOf, operatorOnly } from './administration-scope.ts';
import { endpoints } from './endpoints.ts';

/**
 * The endpoints of the operator. Every other endpoint with the admin header is also open to administrators of the
 * tenant.
 */
const ofOperator = [
  'createTenant',
  'importLegacyCredential',
  'listAuditRecords',
  'listEvents',
  'listTenants',
  'recordAuthenticationContext',
  'updateTenant',
];

let identity: TestIdentity;
let person: Person;
let token: string;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  person = await makePerson(identity, await makeTenant(identity));
  ({ token } = await issueToken(identity, person));
});
after(() => identity.close());

const administered = endpoints.filter(({ auth }) => auth === undefined);

function send(endpoint: Operation, tenantId: string, headers: Record<string, string>) {
  const path = pathOf('/api/v1', endpoint).replaceAll(/\{(\w+)\}/g, (_, name) =>
    name === 'tenantId' ? tenantId : randomUUID(),
  );
  return identity.request(endpoint.method, path, { headers, ...(endpoint.body && { body: {} }) });
}

const isOutside = ({ status, body }: { status: number; body: { detail?: unknown } }) =>
  status === 403 && body.detail === 'outside_administration';

test("each endpoint with the admin header is an administrator's of the tenant, or named as the operator's", async () => {
  const refused: string[] = [];
  for (const endpoint of administered) {
    const answer = await send(endpoint, person.tenantId, bearer(token));
    if (isOutside(answer)) refused.push(endpoint.id);
    else assert.ok(![401, 403].includes(answer.status), `${endpointName(endpoint)}: ${answer.status}`);
  }
  assert.deepEqual(refused.sort(), ofOperator);
  const ids = endpoints.map(({ id }) => id);
  assert.deepEqual(
    Object.keys(operatorOnly).filter((id) => !ids.includes(id)),
    [],
  );
});

test("no endpoint accepts an administrator's token on the path of another tenant, whether it exists or not", async () => {
  const other = await makeTenant(identity);
  for (const endpoint of administered.filter(({ path }) => path.includes('{tenantId}')))
    for (const tenantId of [other, randomUUID(), person.tenantId.toUpperCase(), encoded(person.tenantId)])
      assert.ok(
        isOutside(await send(endpoint, tenantId, bearer(token))),
        `${endpointName(endpoint)} of ${tenantId}`,
      );
});

/** A router decodes this to the same id. */
const encoded = (id: string) => `%${id.charCodeAt(0).toString(16)}${id.slice(1)}`;

test('a path is compared as it was sent', () => {
  const [own, other] = [randomUUID(), randomUUID()];
  assert.ok(isPathOf(`/api/v1/tenants/${own}`, '/api/v1', own));
  assert.ok(isPathOf(`/api/v1/tenants/${own}/principals`, '/api/v1', own));
  for (const path of [
    `/api/v1/tenants/${other}`,
    `/api/v1/tenants/${own}0`,
    `/api/v1/tenants/${own}%2f`,
    `/api/v1//tenants/${own}/x`,
    `/x/api/v1/tenants/${own}/x`,
    `http://x/api/v1/tenants/${own}/x`,
  ])
    assert.ok(!isPathOf(path, '/api/v1', own), path);
});

test('an administration token is no credential anywhere else', async () => {
  for (const endpoint of endpoints.filter(({ auth }) => auth === 'provisioning' || auth === 'delegation')) {
    const { status } = await send(endpoint, person.tenantId, bearer(token));
    assert.equal(status, 401, endpointName(endpoint));
  }
  for (const path of [
    '/browser-sessions:exchange',
    '/platform-access-tokens:exchange',
    '/platform-access-tokens:introspect',
    '/passkeys:list',
  ]) {
    const body = { token, ...(path.endsWith('exchange') && { audience: 'control-plane' }) };
    const { status } = await identity.request('POST', `/api/v1${path}`, { body });
    assert.equal(status, 401, path);
  }
  const header = { 'x-iam-bootstrap-token': token };
  assert.equal(
    (await identity.request('GET', `/api/v1/tenants/${person.tenantId}`, { headers: header })).status,
    401,
  );
});

test('the service credential of coordination administers nothing', async () => {
  for (const endpoint of [...administered, ...endpoints.filter(({ auth }) => auth === 'provisioning')]) {
    const { status } = await send(endpoint, person.tenantId, delegationHeader);
    assert.equal(status, 401, endpointName(endpoint));
  }
});

test('a wrong admin secret is not made good by a token, and the admin secret goes on working', async () => {
  const path = `/api/v1/tenants/${person.tenantId}`;
  const read = async (headers: Record<string, string>) =>
    (await identity.request('GET', path, { headers })).status;
  assert.equal(await read({ ...bearer(token), 'x-iam-bootstrap-token': 'wrong' }), 401);
  assert.equal(await read({ ...bearer(token), 'x-iam-bootstrap-token': '' }), 401);
  assert.equal(await read({ ...bearer(token), ...adminHeader }), 200);
  assert.equal(await read(bearer(token)), 200);
});
