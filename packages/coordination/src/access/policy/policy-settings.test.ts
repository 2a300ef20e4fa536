import assert from 'node:assert/strict';
import { test } from 'node:test';
import { readCoordinationSettings } from '../../app/settings.ts';

const whole = {
  CP_AUTHZ_MODE: 'policy',
  CP_IAM_ISSUER: 'http://identity.test',
  CP_IAM_JWKS_URL: 'http://identity.test/keys',
  CP_IAM_CLIENT_ID: 'iam_sa_1',
  CP_IAM_CLIENT_SECRET: 'a secret of this test',
};
const read = (settings: Record<string, string | undefined>) => readCoordinationSettings(settings);

test('a mode that uses a decision point starts only with all required settings', () => {
  const lacking: Record<string, string>[] = [
    { CP_IAM_ISSUER: '', CP_IAM_JWKS_URL: '' },
    { CP_IAM_CLIENT_ID: '' },
    { CP_IAM_CLIENT_SECRET: '' },
    { CP_IAM_BASE_URL: 'identity.test' },
    { CP_POLICY_BASE_URL: 'policy.test:8030' },
    { CP_POLICY_BASE_URL: 'http://user:password@policy.test' },
    { CP_POLICY_SCOPES: '[]' },
    { CP_POLICY_TIMEOUT_SECONDS: '0' },
    { CP_POLICY_WIRE: 'cedar' },
    { CP_AUTHZ_MODE: 'both' },
  ];
  for (const CP_AUTHZ_MODE of ['policy', 'shadow'])
    for (const settings of lacking)
      assert.throws(() => read({ ...whole, CP_AUTHZ_MODE, ...settings }), Error, JSON.stringify(settings));
  const { CP_POLICY_AUDIENCE, CP_POLICY_SCOPES, CP_POLICY_TIMEOUT_SECONDS, CP_POLICY_CACHE_TTL_SECONDS } =
    read(whole);
  assert.deepEqual(
    [CP_POLICY_AUDIENCE, CP_POLICY_SCOPES, CP_POLICY_TIMEOUT_SECONDS, CP_POLICY_CACHE_TTL_SECONDS],
    ['policy-service', ['policy:check', 'policy:check-on-behalf'], 3, 5],
  );
});

test('mode local requires none of them', () => {
  assert.equal(read({ CP_POLICY_BASE_URL: 'nonsense' }).CP_AUTHZ_MODE, 'local');
});
