import assert from 'node:assert/strict';
import { test } from 'node:test';
import { ownHosts, serviceEnvironment } from './services.ts';

test('identity may reach the own port over loopback, and no other port of this machine', () => {
  assert.deepEqual(ownHosts('http://127.0.0.1:8080'), ['127.0.0.1:8080', 'localhost:8080']);
  assert.deepEqual(ownHosts('http://[::1]:80'), ['[::1]:80', 'localhost:80']);
});

test('an operator who sets the credential of one service for the other sets both', () => {
  const defaults = {
    IAM_DELEGATION_CREDENTIAL_FILE: 'a',
    CP_IDENTITY_ADMIN_CREDENTIAL_FILE: 'a',
    IAM_HOST: 'h',
  };
  assert.deepEqual(serviceEnvironment({}, defaults), defaults);
  for (const name of ['IAM_DELEGATION_CREDENTIAL_FILE', 'CP_IDENTITY_ADMIN_CREDENTIAL_FILE'])
    assert.deepEqual(serviceEnvironment({ [name]: 'mine' }, defaults), { [name]: 'mine', IAM_HOST: 'h' });
});
