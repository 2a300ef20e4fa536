import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { type SeparateServices, startSeparateServices } from './testing/separate-services.ts';

// Separate services: coordination polls the revocations of identity.

let services: SeparateServices;
before(async () => {
  services = await startSeparateServices('http://baton.test');
});
after(() => services?.close());

async function send(port: number, method: string, path: string, headers: object, body?: object) {
  const response = await fetch(`http://127.0.0.1:${port}${path}`, {
    method,
    headers: { 'content-type': 'application/json', ...headers },
    ...(body && { body: JSON.stringify(body) }),
  });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

test('an access token of a principal that was disabled since is refused by coordination, and stays so', async () => {
  const { identityPort, coordinationPort, adminToken: token, tenantId, adminSecret } = services;
  const identity = (path: string, body: object) => send(identityPort, 'POST', `/api/v1${path}`, {}, body);
  const { body: exchanged } = await identity('/platform-access-tokens:exchange', {
    token,
    audience: 'control-plane',
  });
  const { body: known } = await identity('/platform-access-tokens:introspect', { token });
  const call = async () => {
    const authorization = { authorization: `Bearer ${exchanged.accessToken}` };
    return (await send(coordinationPort, 'GET', '/api/v1/tasks', authorization)).status;
  };
  assert.equal(await call(), 200);
  const principal = `/api/v1/tenants/${tenantId}/principals/${known.principalId}`;
  const change = (verb: string) =>
    send(identityPort, 'POST', `${principal}:${verb}`, { 'x-iam-bootstrap-token': adminSecret });
  assert.equal((await change('disable')).status, 200);
  while ((await call()) !== 401) await sleep(20);
  assert.equal((await change('enable')).status, 200);
  // Two polls later.
  for (const until = performance.now() + 2500; performance.now() < until; await sleep(100))
    assert.equal(await call(), 401);
});
