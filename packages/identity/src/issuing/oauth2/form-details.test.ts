import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeAudience, makeServiceAccount, makeTenant, readScope } from '../../testing/objects.ts';

/** Tests the rules of RFC 6749 for the form and the client's authentication (sections 2.3.1, 3.2, 5.1 and 5.2). */

let identity: TestIdentity;
let client: { clientId: string; clientSecret: string };
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  const tenantId = await makeTenant(identity);
  await makeAudience(identity, tenantId);
  client = await makeServiceAccount(identity, tenantId, { scopeCeiling: [readScope] });
});
after(() => identity.close());

const formType = 'application/x-www-form-urlencoded';
const grant = 'grant_type=client_credentials&audience=control-plane';
const post = () => `client_id=${client.clientId}&client_secret=${client.clientSecret}`;
const basicOf = (pair: string) => ({ authorization: `Basic ${Buffer.from(pair).toString('base64')}` });
const basic = () => basicOf(`${client.clientId}:${client.clientSecret}`);
const ask = async (form: string, headers: Record<string, string> = {}) => {
  const {
    status,
    body,
    headers: answered,
  } = await identity.request('POST', '/oauth2/token', {
    body: form,
    headers: { 'content-type': formType, ...headers },
  });
  return { result: status === 200 ? 'granted' : `${status} ${body.error}`, answered };
};
const resultOf = async (form: string, headers?: Record<string, string>) => (await ask(form, headers)).result;

test('a parameter without a value counts as absent', async () => {
  for (const form of [
    `${grant}&client_id=&client_secret=`,
    `${grant}&resource=&scope=&unknown=`,
    'grant_type=client_credentials&audience=&resource=control-plane',
    `${grant}&audience=&grant_type=`,
  ])
    assert.equal(await resultOf(form, basic()), 'granted', form);
  for (const form of ['grant_type=&audience=control-plane', 'grant_type=client_credentials&audience='])
    assert.equal(await resultOf(form, basic()), '400 invalid_request', form);
  for (const secret of ['client_secret=', 'client_id='])
    assert.equal(await resultOf(`${grant}&${secret}`), '401 invalid_client', secret);
});

test('a repeated parameter is refused, an unknown one too', async () => {
  for (const name of ['grant_type', 'audience', 'resource', 'scope', 'client_id', 'client_secret', 'unknown'])
    assert.equal(await resultOf(`${grant}&${post()}&${name}=a&${name}=a`), '400 invalid_request', name);
  assert.equal(await resultOf(`${grant}&${post()}&unknown=a&%75nknown=b`), '400 invalid_request');
  assert.equal(await resultOf(`${grant}&${post()}&unknown=a&Unknown=b`), 'granted', 'names have a case');
});

test('the client authenticates in one way, by form-urlencoded Basic credentials or in the form', async () => {
  assert.equal(await resultOf(`${grant}&${post()}`), 'granted');
  assert.equal(await resultOf(grant, basic()), 'granted');
  const [head, last] = [client.clientSecret.slice(0, -1), client.clientSecret.slice(-1)];
  const escaped = `%${last.charCodeAt(0).toString(16)}`;
  const id = client.clientId.replace('_', '%5f');
  assert.equal(await resultOf(grant, basicOf(`${id}:${head}${escaped}`)), 'granted', 'escaped');
  for (const extra of [
    post(),
    `client_id=${client.clientId}`,
    `client_secret=${client.clientSecret}`,
    'client_id=x',
  ])
    assert.equal(await resultOf(`${grant}&${extra}`, basic()), '400 invalid_request', extra);
  for (const pair of [
    'nobody',
    `${client.clientId}:`,
    `:${client.clientSecret}`,
    `${client.clientId}:${client.clientSecret}+`,
    `${client.clientId}%3A${client.clientSecret}`,
    `${client.clientId}:${client.clientSecret}\0`,
    `\u{fffd}${client.clientId}:${client.clientSecret}`,
  ]) {
    const { result, answered } = await ask(grant, basicOf(pair));
    assert.equal(result, '401 invalid_client', pair);
    assert.equal(answered.get('www-authenticate'), 'Basic realm="iam"');
  }
  for (const authorization of ['Basic', 'Basic ', 'Basic ===', `Bearer ${client.clientSecret}`, 'Digest x'])
    assert.equal(await resultOf(`${grant}`, { authorization }), '401 invalid_client', authorization);
});

test('the media type may name a charset whose ASCII is that of UTF-8, and no other', async () => {
  const form = `${grant}&${post()}`;
  for (const type of [
    `${formType}; charset=UTF-8`,
    `${formType};charset="utf-8"`,
    `${formType.toUpperCase()} ; Charset=iso-8859-1`,
    `${formType}; charset=us-ascii; q=1`,
  ])
    assert.equal(await resultOf(form, { 'content-type': type }), 'granted', type);
  for (const type of [`${formType}; charset=utf-16`, 'application/json', 'text/plain', `${formType}x`])
    assert.equal(await resultOf(form, { 'content-type': type }), '400 invalid_request', type);
});

test('a token is never to be stored; parameters of the address and other methods are refused', async () => {
  const { answered } = await ask(`${grant}&${post()}`);
  assert.deepEqual([answered.get('cache-control'), answered.get('pragma')], ['no-store', 'no-cache']);
  const inAddress = await identity.request('POST', `/oauth2/token?${grant}`, {
    body: post(),
    headers: { 'content-type': formType },
  });
  assert.deepEqual([inAddress.status, inAddress.body], [400, { error: 'invalid_request' }]);
  const got = await identity.request('GET', '/oauth2/token');
  assert.deepEqual(
    [got.status, got.headers.get('allow'), got.body],
    [405, 'POST', { error: 'invalid_request' }],
  );
});
