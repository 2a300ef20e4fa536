import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { startIdentity, type TestIdentity } from '../../testing/identity.ts';
import { makeTenant } from '../../testing/objects.ts';
import { auditOf, journalOf, storeCounts } from '../../testing/records.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity();
});
after(() => identity.close());

describe('POST /tenants', () => {
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

  test('of several requests for one slug at the same time, one succeeds', async () => {
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

describe('GET /tenants', () => {
  test('lists all in the order of their creation, in pages whose cursors lead through the whole list', async () => {
    const own = await startIdentity();
    try {
      const ids: string[] = [];
      for (let n = 0; n < 5; n += 1) ids.push(await makeTenant(own));
      const whole = await own.get('/tenants');
      assert.deepEqual([whole.status, whole.body.next_after], [200, null]);
      const listed = whole.body.items.map(({ id }: { id: string }) => id);
      assert.deepEqual(listed.toSorted(), ids.toSorted());
      assert.deepEqual(Object.keys(whole.body.items[0]), ['id', 'slug', 'name', 'status', 'created_at']);
      const seen: string[] = [];
      let after = '';
      do {
        const { body } = await own.get(`/tenants?limit=2${after}`);
        assert.ok(body.items.length > 0);
        seen.push(...body.items.map(({ id }: { id: string }) => id));
        after = body.next_after === null ? '' : `&after=${body.next_after}`;
      } while (after !== '');
      assert.deepEqual(seen, listed);
    } finally {
      await own.close();
    }
  });

  test('status and slug filter it', async () => {
    const [open, closed] = [await makeTenant(identity), await makeTenant(identity)];
    await identity.patch(`/tenants/${closed}`, { status: 'disabled' });
    const idsOf = async (query: string) =>
      (await identity.get(`/tenants?limit=500&${query}`)).body.items.map(({ id }: { id: string }) => id);
    assert.deepEqual(await idsOf('status=disabled'), [closed]);
    const active = await idsOf('status=active');
    assert.deepEqual([active.includes(open), active.includes(closed)], [true, false]);
    const { slug } = (await identity.get(`/tenants/${open}`)).body;
    assert.deepEqual(await idsOf(`slug=${slug}`), [open]);
    assert.deepEqual(await idsOf(`slug=${slug}&status=disabled`), []);
    assert.deepEqual(await idsOf('slug=nobody'), []);
  });

  test('a foreign or broken cursor, a limit out of range and another status are 422', async () => {
    const audit = Buffer.from(JSON.stringify(['groups', '2026-01-01T00:00:00.000Z', randomUUID()]));
    for (const query of [
      `after=${audit.toString('base64url')}`,
      'after=',
      'after=x',
      'limit=0',
      'limit=501',
      'status=paused',
    ]) {
      const { status, body } = await identity.get(`/tenants?${query}`);
      assert.deepEqual([status, body.detail[0].loc], [422, ['query', query.split('=', 1)[0]]], query);
    }
  });
});

describe('GET and PATCH /tenants/{tenantId}', () => {
  test('reads one; an absent one is 404 for both', async () => {
    const tenantId = await makeTenant(identity);
    const { status, body } = await identity.get(`/tenants/${tenantId}`);
    assert.deepEqual([status, body.id, body.status], [200, tenantId, 'active']);
    const unknown = `/tenants/${randomUUID()}`;
    for (const answer of [await identity.get(unknown), await identity.patch(unknown, { name: 'x' })])
      assert.deepEqual([answer.status, answer.body], [404, { detail: 'tenant_not_found' }]);
  });

  test('changes name and status, with an event and an audit row without the name', async () => {
    const tenantId = await makeTenant(identity);
    const path = `/tenants/${tenantId}`;
    const { slug } = (await identity.get(path)).body;
    for (const [changes, reason] of [
      [{ name: 'Renamed in confidence' }, 'changed:name'],
      [{ status: 'disabled' }, 'changed:status status:disabled'],
      [{ name: 'Again', status: 'active' }, 'changed:name,status status:active'],
    ] as const) {
      const { status, body } = await identity.patch(path, changes);
      assert.equal(status, 200);
      assert.deepEqual(body, { ...body, ...changes, id: tenantId, slug });
      assert.deepEqual((await identity.get(path)).body, body);
      const event = (await journalOf(identity, tenantId)).at(-1);
      assert.deepEqual(
        [event.type, event.aggregate_type, event.aggregate_id, event.payload],
        ['tenant.updated', 'tenant', tenantId, { tenantId, slug, status: body.status }],
      );
      const line = (await auditOf(identity, tenantId)).at(-1);
      assert.deepEqual(
        [line?.action, line?.resource_type, line?.resource_id, line?.reason],
        ['tenants.update', 'tenant', tenantId, reason],
      );
    }
  });

  test('equal values and none change nothing: no event, no audit row', async () => {
    const tenantId = await makeTenant(identity);
    const { body: tenant } = await identity.get(`/tenants/${tenantId}`);
    const before = await storeCounts(identity);
    for (const changes of [{}, { name: tenant.name }, { name: tenant.name, status: 'active' }]) {
      const { status, body } = await identity.patch(`/tenants/${tenantId}`, changes);
      assert.deepEqual([status, body], [200, tenant]);
    }
    assert.deepEqual(await storeCounts(identity), before);
  });

  test('id and slug stay, and a null is no value', async () => {
    const tenantId = await makeTenant(identity);
    for (const changes of [
      { slug: 'another' },
      { id: randomUUID() },
      { name: '' },
      { name: null },
      { status: 'paused' },
      { status: null },
    ])
      assert.equal((await identity.patch(`/tenants/${tenantId}`, changes)).status, 422);
  });
});
