import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { after, before, test } from 'node:test';
import { decodeJwt } from 'jose';
import { adminHeader, startIdentity, type TestIdentity, testSigningKey } from '../../../testing/identity.ts';
import {
  made,
  makeAudience,
  makePrincipal,
  makeTenant,
  readScope,
  writeScope,
} from '../../../testing/objects.ts';
import { makePerson, type Person } from '../../passkeys/testing/people.ts';
import { begin, makePkce, oauthSettings, read, requestOf, scope } from '../testing/browser.ts';

let identity: TestIdentity;
let tenantId: string;
let person: Person;
let coordination: Server;
/** The token of the last request, and its response. */
let presented = '';
let respond: (res: ServerResponse) => void = () => undefined;
const list = (names: readonly string[], nextCursor: string | null) => (res: ServerResponse) =>
  res.end(JSON.stringify({ items: names.map((name) => ({ name, id: 'x' })), nextCursor }));

before(async () => {
  coordination = createServer((req, res) => {
    assert.match(req.url ?? '', /^\/api\/v1\/workspaces\?status=active&limit=20$/);
    presented = String(req.headers.authorization).replace('Bearer ', '');
    respond(res);
  });
  coordination.listen(0, '127.0.0.1');
  await once(coordination, 'listening');
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_COORDINATION_URL: `http://127.0.0.1:${(coordination.address() as AddressInfo).port}/`,
    ...oauthSettings,
  });
  tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId, 'control-plane', [readScope, writeScope]);
  person = await makePerson(identity, tenantId);
});
after(async () => {
  await identity.close();
  coordination.closeAllConnections();
  coordination.close();
});

const readNew = async (more: object = {}) => {
  const { request } = await begin(identity, requestOf(makePkce()));
  return read(identity, person, { request, ...more });
};

test('a request names the workspaces of the person, or of the agent that they choose', async () => {
  respond = list(['Payments', 'Website'], null);
  const { workspaces } = await made(readNew());
  assert.deepEqual(workspaces, { names: ['Payments', 'Website'], hasMore: false });
  const ofPerson = decodeJwt(presented);
  assert.deepEqual(
    [ofPerson.sub, ofPerson.aud, ofPerson['scope'], ofPerson['credential_id']],
    [person.principalId, 'control-plane', scope, person.session.id],
  );

  const agentId = await makePrincipal(identity, tenantId);
  const others = await readNew({ principalId: agentId });
  assert.deepEqual([others.status, others.body], [403, { detail: 'agent_not_connectable' }]);
  const path = `/api/v1/tenants/${tenantId}/principals/${agentId}/connectors/${person.principalId}`;
  assert.equal((await identity.request('PUT', path, { headers: adminHeader })).status, 204);
  respond = list(['Payments'], 'next');
  const asAgent = await made(readNew({ principalId: agentId }));
  assert.deepEqual(asAgent.workspaces, { names: ['Payments'], hasMore: true });
  assert.deepEqual([decodeJwt(presented).sub, decodeJwt(presented)['principal_type']], [agentId, 'agent']);
});

test('a coordination that refuses, fails or is silent leaves the request readable', async () => {
  for (const unusable of [
    (res: ServerResponse) => void res.writeHead(403).end('{"code":"permission_denied"}'),
    (res: ServerResponse) => void res.end('no JSON'),
    (res: ServerResponse) => void res.end('{"items":[{"name":1}]}'),
    (res: ServerResponse) => void res.destroy(),
    // Silence: the request times out.
    () => undefined,
  ]) {
    respond = unusable;
    assert.equal((await made(readNew())).workspaces, null);
  }
});
