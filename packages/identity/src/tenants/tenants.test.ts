import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startIdentity, type TestIdentity } from '../testing/identity.ts';
import { auditOf, journalOf, storeCounts } from '../testing/records.ts';

describe('POST /tenants', () => {
  let identity: TestIdentity;
  before(async () => {
    identity = await startIdentity();
  });
  after(() => identity.close());

  test('makes an active tenant, with an event and an audit row of the same change', async () => {
    const requestId = 'request-of-the-test';
    const headers = { 'x-request-id': requestId };
    const {
      status,
      body,
      headers: answered,
    } = await identity.post('/tenants', { slug: 'acme', name: 'Acme' }, headers);
    assert.equal(status, 201);
    assert.deepEqual(Object.keys(body), ['id', 'slug', 'name', 'status', 'created_at']);
    assert.match(body.id, /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/);
    assert.deepEqual([body.slug, body.name, body.status], ['acme', 'Acme', 'active']);
    assert.match(body.created_at, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/);
    assert.equal(answered.get('x-request-id'), requestId);

    const [event, ...more] = await journalOf(identity, body.id);
    assert.deepEqual(more, []);
    assert.deepEqual(event.payload, { tenantId: body.id, slug: 'acme' });
    assert.deepEqual(
      [event.type, event.aggregate_type, event.aggregate_id],
      ['tenant.created', 'tenant', body.id],
    );
    assert.deepEqual(await auditOf(identity, body.id), [
      {
        action: 'tenants.create',
        actor_ref: 'bootstrap',
        resource_type: 'tenant',
        resource_id: body.id,
        outcome: 'allowed',
        reason: '',
        request_id: requestId,
      },
    ]);
  });

  test('takes an id of the caller, in either case, and null for none', async () => {
    const id = randomUUID();
    const named = await identity.post('/tenants', { slug: 'with-id', name: 'x', id: id.toUpperCase() });
    assert.equal(named.body.id, id);
    const unnamed = await identity.post('/tenants', { slug: 'without-id', name: 'x', id: null });
    assert.equal(unnamed.status, 201);
  });

  test('a taken id is refused before a taken slug, and nothing is made', async () => {
    const { body: first } = await identity.post('/tenants', { slug: 'taken', name: 'x' });
    const { body: second } = await identity.post('/tenants', { slug: 'other', name: 'x' });
    const before = await storeCounts(identity);
    for (const [request, code] of [
      [{ slug: 'free', name: 'x', id: first.id }, 'tenant_id_exists'],
      [{ slug: 'taken', name: 'x' }, 'tenant_slug_exists'],
      [{ slug: 'taken', name: 'x', id: randomUUID() }, 'tenant_slug_exists'],
      [{ slug: 'taken', name: 'x', id: second.id }, 'tenant_id_exists'],
    ] as const) {
      const { status, body } = await identity.post('/tenants', request);
      assert.deepEqual([status, body], [409, { detail: code }]);
    }
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('of rivals for one slug, one gets it', async () => {
    const answers = await Promise.all(
      Array.from({ length: 16 }, () => identity.post('/tenants', { slug: 'contested', name: 'x' })),
    );
    const outcomes = answers.map(({ status, body }) => (status === 201 ? 'made' : body.detail)).sort();
    assert.deepEqual(outcomes, ['made', ...Array(15).fill('tenant_slug_exists')]);
  });

  test('slug and name have their forms', async () => {
    const name = 'x';
    for (const slug of ['ab', 'A-b', '-ab', 'ab-', 'a_b', 'a'.repeat(81), ''])
      assert.equal((await identity.post('/tenants', { slug, name })).status, 422, slug);
    for (const slug of ['abc', 'a-b', '0'.repeat(80)])
      assert.equal((await identity.post('/tenants', { slug, name })).status, 201, slug);
    const slug = 'named';
    for (const bad of ['', 'x'.repeat(201), 5, null])
      assert.equal((await identity.post('/tenants', { slug, name: bad })).status, 422);
    // 200 characters, although 400 UTF-16 units
    assert.equal((await identity.post('/tenants', { slug, name: '🦊'.repeat(200) })).status, 201);
  });

  test('a problem is listed by its place, without what was sent', async () => {
    const { body } = await identity.post('/tenants', { slug: 'Secret Slug', extra: 'secret' });
    assert.deepEqual(
      body.detail.map(({ type, loc }: { type: string; loc: string[] }) => [type, loc]),
      [
        ['invalid_format', ['body', 'slug']],
        ['missing', ['body', 'name']],
        ['extra_forbidden', ['body', 'extra']],
      ],
    );
    assert.ok(!JSON.stringify(body).includes('ecret'));
  });
});
