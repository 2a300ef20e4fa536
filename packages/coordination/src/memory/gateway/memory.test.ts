import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { newId } from '@baton/values/ids';
import { readCoordinationSettings } from '../../app/settings.ts';
import { startPolicyService } from '../../testing/access/policy-service.ts';
import { startMemoryService, type TestMemory } from '../../testing/memory/memory-service.ts';
import { type BatchResult, type MemoryItem, openMemory } from './memory.ts';

const key = 'memory-key-of-the-tests-987654';

let service: TestMemory;
before(async () => {
  service = await startMemoryService();
});
after(() => service.close());

const item: MemoryItem = {
  source: { system: 'control-plane', stream: 'domain-events', external_id: `event:${newId()}` },
  kind: 'capability.created',
  occurred_at: '2026-01-01T00:00:00.000Z',
  subject: { type: 'capability', id: newId() },
  scopes: [],
  content: 'The capability was made.',
  data: {},
  provenance: { uri: 'control-plane://events/1' },
};

/** Returns the result for one item that the service rejects with this message. */
async function refusedWith(error: string): Promise<BatchResult> {
  const settings = readCoordinationSettings({
    CP_CONTEXT_PROVIDER: 'http',
    CP_CONTEXT_BASE_URL: service.url,
    CP_CONTEXT_API_KEY: key,
  });
  const body = `{"results":[{"error":${error}}],"accepted":0,"duplicates":0,"failed":1}`;
  service.behave({ answer: { status: 207, body } });
  return openMemory(settings, 'run_test').ingest('tenant:1', [item], new AbortController().signal);
}

test('a refusal of any depth is handled as a response, so the tenant can be on hold at its event', async () => {
  const depth = 500_000;
  const result = await refusedWith(`${'['.repeat(depth)}${']'.repeat(depth)}`);
  assert.equal(result.kind, 'judged');
});

test('a credential repeated in a refusal is not stored', async () => {
  for (const error of [`"no right for ${key}"`, `{"header":"Bearer ${key}"}`, `"${'x'.repeat(490)}${key}"`]) {
    const result = await refusedWith(error);
    assert.equal(result.kind, 'judged');
    assert.doesNotMatch(JSON.stringify(result), /memory-key/);
  }
});

test('with a decision point, its tokens also allow calls on behalf of others', async () => {
  const policy = await startPolicyService();
  const scopesIn = async (CP_AUTHZ_MODE: string) => {
    policy.exchanges.length = 0;
    const settings = readCoordinationSettings({
      ...policy.env,
      CP_AUTHZ_MODE,
      CP_IAM_ISSUER: 'http://identity.test',
      CP_IAM_JWKS_URL: 'http://identity.test/keys',
      CP_CONTEXT_PROVIDER: 'http',
      CP_CONTEXT_AUTH: 'iam',
      CP_CONTEXT_BASE_URL: service.url,
    });
    service.behave({});
    await openMemory(settings, 'run_test').ingest('tenant:1', [item], new AbortController().signal);
    return policy.exchanges.map(({ audience, scopes }) => [audience, ...scopes]);
  };
  const usual = ['memory-service', 'memory:read', 'memory:write', 'memory:tenants', 'memory:service'];
  assert.deepEqual(await scopesIn('local'), [usual]);
  assert.deepEqual(await scopesIn('policy'), [[...usual, 'memory:on-behalf']]);
  await policy.close();
});
