import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { byDepth } from '@baton/testing/depth';
import { newId } from '@baton/values/ids';
import {
  type Actor,
  type Answer,
  startCoordination,
  type TestCoordination,
} from '../../../testing/coordination.ts';
import { makeNarrowPerson } from '../../../testing/organisation/workspaces.ts';

/** docs/reference/access.md#admissions */

let baton: TestCoordination;
let admin: Actor;
before(async () => {
  baton = await startCoordination({ CP_LEGACY_API_KEYS_ENABLED: 'true' });
  admin = baton.admin;
});
after(() => baton.close());

function refused({ status, body }: Answer, expected: number, code: string, details?: object): void {
  assert.deepEqual([status, body.error?.code], [expected, code], JSON.stringify(body));
  if (details !== undefined) assert.deepEqual(body.error.details, details);
}

const personOf = (changes: object = {}) => ({
  issuer: baton.issuer.issuer,
  iamTenantId: baton.tenantId,
  iamPrincipalId: newId(),
  displayName: 'Petra Novak',
  email: 'petra@example.com',
  accessRole: 'member',
  ...changes,
});
const admit = (body: object, actor = admin) => actor.post('/admissions', body);
const signedIn = async (iamPrincipalId: string, tenantId = baton.tenantId) => {
  const scope = 'control-plane:read control-plane:write';
  const token = await baton.issuer.sign({ sub: iamPrincipalId, tenant_id: tenantId, scope });
  return baton.request('GET', '/api/v1/harness/context', { token });
};
const countOf = async (table: 'principals' | 'iam_bindings') => {
  const count =
    table === 'principals'
      ? sql<{ n: number }>`select count(*)::integer as n from principals`
      : sql<{ n: number }>`select count(*)::integer as n from iam_bindings`;
  return (await baton.pool.row(count))?.n;
};

describe('POST /admissions', () => {
  test('makes principal and binding with the role, and repeats as 200, changing nothing', async () => {
    const body = personOf();
    const first = await admit(body);
    assert.equal(first.status, 201, JSON.stringify(first.body));
    const { principal, binding } = first.body;
    assert.deepEqual(
      [principal.displayName, principal.kind, principal.profile.email, binding.accessRole],
      ['Petra Novak', 'human', 'petra@example.com', 'member'],
    );
    assert.equal((await signedIn(body.iamPrincipalId)).body.principal.id, principal.id);
    const [people, bindings] = [await countOf('principals'), await countOf('iam_bindings')];
    const again = await admit({ ...body, displayName: 'Another name' });
    assert.equal(again.status, 200);
    assert.deepEqual(again.body.principal, principal);
    assert.deepEqual([await countOf('principals'), await countOf('iam_bindings')], [people, bindings]);
    refused(await admit({ ...body, accessRole: 'viewer' }), 409, 'already_admitted', {
      principalId: principal.id,
      accessRole: 'member',
    });
  });

  test('of one person by two administrators at the same time makes one principal', async () => {
    const other = await baton.actor({ kind: 'human' });
    for (let round = 0; round < byDepth(5, 100); round += 1) {
      const body = personOf();
      const people = (await countOf('principals')) ?? 0;
      const answers = await Promise.all([admit(body), admit(body, other), admit(body), admit(body, other)]);
      assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 200, 201]);
      assert.equal(new Set(answers.map(({ body: made }) => made.principal.id)).size, 1);
      assert.equal(await countOf('principals'), people + 1);
      const rivals = personOf();
      const both = await Promise.all([admit(rivals), admit({ ...rivals, accessRole: 'viewer' }, other)]);
      assert.deepEqual(both.map(({ status }) => status).sort(), [201, 409]);
    }
  });

  test('refuses whole what the caller may not grant, and leaves no principal', async () => {
    const lead = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
    const people = await countOf('principals');
    refused(await admit(personOf(), lead), 403, 'permission_escalation');
    refused(await admit(personOf({ accessRole: 'none-such' })), 404, 'not_found', {
      accessRole: 'none-such',
    });
    refused(await admit(personOf({ issuer: 'https://other.example' })), 422, 'iam_issuer_untrusted');
    refused(await admit(personOf({ displayName: ' ' })), 422, 'invalid_display_name');
    refused(
      await admit(personOf({ email: `ghp_${'a1B2'.repeat(9)}@example.com` })),
      422,
      'secret_material_rejected',
    );
    assert.equal(await countOf('principals'), people);
  });

  test('refuses an identity of another tenant, and one that lost its access', async () => {
    const body = personOf();
    assert.equal((await admit(body, baton.otherAdmin)).status, 201);
    refused(await admit(body), 409, 'iam_identity_bound_elsewhere');
    const own = personOf();
    const { body: admitted } = await admit(own);
    await admin.post(`/iam-bindings/${admitted.binding.id}:revoke`);
    refused(await admit(own), 409, 'already_admitted');
  });

  test('of a person who sees only their workspaces grants no sight of the tenant', async () => {
    const narrow = await baton.actor({ kind: 'human' });
    await baton.pool.run(
      sql`update iam_bindings set visibility = 'members' where principal_id = ${narrow.principalId}`,
    );
    const process = await baton.another();
    const call = (visibility: string) =>
      fetch(`${process.url}/api/v1/admissions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${narrow.token}`, 'content-type': 'application/json' },
        body: JSON.stringify(personOf({ visibility })),
      });
    assert.equal((await call('tenant')).status, 403);
    assert.equal((await call('members')).status, 201);
  });
});

const providerOf = () => `p-${newId()}`;
const rule = (provider: string, accessRole = 'member', actor = admin) =>
  actor.put(`/admission-rules/${provider}`, { accessRole });

async function statementOf(provider: string, changes: object = {}, options: object = {}) {
  const claims = {
    sub: newId(),
    tenant_id: baton.tenantId,
    identity_provider: provider,
    access_role: 'member',
    name: 'Petra Novak',
    email: 'petra@example.com',
    ...changes,
  };
  return { claims, statement: await baton.issuer.sign(claims, { type: 'admission+jwt', ...options }) };
}

const present = (statement: string) =>
  baton.request('POST', '/api/v1/admissions:self', { body: { statement } });

describe('POST /admissions:self', () => {
  test('admits the person of a statement with the role of the rule, once', async () => {
    const provider = providerOf();
    assert.equal((await rule(provider)).status, 201);
    const { statement, claims } = await statementOf(provider);
    assert.equal((await signedIn(claims.sub)).status, 401);
    const answers = await Promise.all([present(statement), present(statement), present(statement)]);
    assert.deepEqual(answers.map(({ status }) => status).sort(), [200, 200, 201]);
    const { principal, binding } = answers[0].body;
    assert.deepEqual(
      [principal.displayName, principal.profile.email, binding.accessRole, binding.visibility],
      ['Petra Novak', 'petra@example.com', 'member', 'tenant'],
    );
    const { events } = await eventsOf(principal.id);
    assert.deepEqual(events, ['principal.created', 'principal.updated', 'principal.self_admitted']);
  });

  test('needs a rule of an administrator for this tenant, provider and role', async () => {
    const provider = providerOf();
    await rule(provider);
    for (const changes of [
      { identity_provider: providerOf() },
      { tenant_id: newId() },
      { tenant_id: baton.otherTenantId },
      { access_role: 'lead' },
      { access_role: 'administrator' },
    ]) {
      const { statement } = await statementOf(provider, changes);
      refused(await present(statement), 403, 'self_admission_refused', {});
    }
    const { statement } = await statementOf(provider);
    assert.equal((await admin.delete(`/admission-rules/${provider}`)).status, 204);
    refused(await present(statement), 403, 'self_admission_refused');
  });

  test('refuses every statement that is not from identity, has expired, or is for another service', async () => {
    const provider = providerOf();
    await rule(provider);
    const { statement: good } = await statementOf(provider);
    const [head = '', , signature = ''] = good.split('.');
    const forged = Buffer.from(JSON.stringify({ iss: baton.issuer.issuer })).toString('base64url');
    const wrong = [
      'nothing',
      `${head}.${forged}.${signature}`,
      (await statementOf(provider, {}, { type: 'at+jwt' })).statement,
      (await statementOf(provider, {}, { type: 'JWT' })).statement,
      (await statementOf(provider, {}, { lifeSeconds: -60 })).statement,
      (await statementOf(provider, {}, { keyId: 'unknown' })).statement,
      (await statementOf(provider, { aud: 'another-service' })).statement,
      (await statementOf(provider, { iss: 'https://other.example' })).statement,
      (await statementOf(provider, { sub: 'nobody' })).statement,
      (await statementOf(provider, { identity_provider: undefined })).statement,
      (await statementOf(provider, { access_role: 7 })).statement,
      admin.token,
    ];
    for (const [place, statement] of wrong.entries())
      assert.equal((await present(statement)).body.error.code, 'invalid_credentials', String(place));
    // A statement isn't accepted as an access token either.
    const { statement } = await statementOf(provider, { scope: 'control-plane:read' });
    assert.equal((await baton.request('GET', '/api/v1/harness/context', { token: statement })).status, 401);
  });

  test('does not readmit somebody who lost their access, and takes nobody from another tenant', async () => {
    const provider = providerOf();
    await rule(provider);
    const { statement, claims } = await statementOf(provider);
    const { body } = await present(statement);
    await admin.post(`/iam-bindings/${body.binding.id}:revoke`);
    refused(await present(statement), 403, 'self_admission_refused');
    const disabled = await statementOf(provider);
    const { body: second } = await present(disabled.statement);
    await admin.post(`/principals/${second.principal.id}:disable`);
    refused(await present(disabled.statement), 403, 'self_admission_refused');
    const elsewhere = personOf({ iamPrincipalId: newId() });
    await admit(elsewhere, baton.otherAdmin);
    const { statement: foreign } = await statementOf(provider, { sub: elsewhere.iamPrincipalId });
    refused(await present(foreign), 403, 'self_admission_refused');
    assert.equal((await signedIn(claims.sub)).status, 401);
  });

  test('never gives `admin`, also if the role got it after the rule', async () => {
    const provider = providerOf();
    const key = `own-${newId().slice(-8)}`;
    const own = { key, name: 'Own', permissions: ['tasks.read'] };
    const { body: role } = await admin.post('/access-roles', own);
    assert.equal((await rule(provider, key)).status, 201);
    const { statement } = await statementOf(provider, { access_role: key });
    const change = { permissions: ['tasks.read', 'admin'] };
    const changed = await admin.patch(`/access-roles/${role.id}`, change, { 'if-match': '"access_role-1"' });
    assert.equal(changed.status, 200, JSON.stringify(changed.body));
    refused(await present(statement), 403, 'self_admission_refused');
  });

  test('keeps its role from being deleted, because another role could get the same key', async () => {
    const provider = providerOf();
    const key = `own-${newId().slice(-8)}`;
    const { body: role } = await admin.post('/access-roles', {
      key,
      name: 'Own',
      permissions: ['tasks.read'],
    });
    assert.equal((await rule(provider, key)).status, 201);
    const remove = () => admin.delete(`/access-roles/${role.id}`);
    refused(await remove(), 409, 'access_role_in_use', { accessRole: key, bindings: 0, admissionRules: 1 });
    assert.equal((await admin.delete(`/admission-rules/${provider}`)).status, 204);
    assert.equal((await remove()).status, 204);
  });

  test('gives nothing once its role has been deleted in the database of an older release', async () => {
    const provider = providerOf();
    const key = `own-${newId().slice(-8)}`;
    await admin.post('/access-roles', { key, name: 'Own', permissions: ['tasks.read'] });
    assert.equal((await rule(provider, key)).status, 201);
    await baton.pool.run(sql`delete from access_roles where key = ${key} and tenant_id = ${baton.tenantId}`);
    const { statement } = await statementOf(provider, { access_role: key });
    refused(await present(statement), 403, 'self_admission_refused');
  });

  test('responds with 503 while the keys of identity cannot be read', async () => {
    const provider = providerOf();
    await rule(provider);
    const fresh = await baton.another();
    const { statement } = await statementOf(provider);
    baton.issuer.serve(false);
    const answer = await fetch(`${fresh.url}/api/v1/admissions:self`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ statement }),
    });
    baton.issuer.serve(true);
    assert.equal(answer.status, 503);
  });
});

describe('an admission rule', () => {
  test('is set, listed, changed and removed; repetitions change nothing', async () => {
    const provider = providerOf();
    const { body: set } = await rule(provider);
    assert.deepEqual(
      [set.identityProvider, set.accessRole, set.iamTenantId, set.issuer],
      [provider, 'member', baton.tenantId, baton.issuer.issuer],
    );
    assert.deepEqual((await rule(provider)).body, set);
    const { body: changed } = await rule(provider, 'viewer');
    assert.deepEqual([changed.id, changed.accessRole], [set.id, 'viewer']);
    const { body: list } = await admin.get('/admission-rules');
    assert.ok(list.items.some(({ id }: { id: string }) => id === set.id));
    assert.ok(
      !(await baton.otherAdmin.get('/admission-rules')).body.items.some(
        ({ id }: { id: string }) => id === set.id,
      ),
    );
    for (let times = 0; times < 2; times += 1)
      assert.equal((await admin.delete(`/admission-rules/${provider}`)).status, 204);
    const { types } = await eventsOf(set.id);
    assert.deepEqual(types, ['admission_rule.set', 'admission_rule.set', 'admission_rule.removed']);
  });

  test('needs the rights that it gives, and never has `admin`', async () => {
    const provider = providerOf();
    const lead = await baton.actor({ kind: 'human', permissions: ['principals.write', 'tasks.read'] });
    refused(await rule(provider, 'member', lead), 403, 'permission_escalation');
    refused(await rule(provider, 'administrator'), 422, 'admission_role_not_allowed', {
      accessRole: 'administrator',
    });
    refused(await rule(provider, 'none-such'), 404, 'not_found');
  });

  test('is not set by a person who sees only their workspaces: those whom it admits see the tenant', async () => {
    const { person: narrow } = await makeNarrowPerson(baton);
    refused(await rule(providerOf(), 'viewer', narrow), 403, 'visibility_escalation');
  });

  test('is for the tenant of the caller at identity, which an API key has none of', async () => {
    const { body: key } = await admin.post(`/principals/${admin.principalId}/api-keys`, {
      permissions: ['principals.write'],
    });
    const answer = await baton.request('PUT', `/api/v1/admission-rules/${providerOf()}`, {
      token: key.key,
      body: { accessRole: 'viewer' },
    });
    refused(answer, 409, 'identity_token_required');
  });

  test('of one provider exists in one tenant, and a tenant has at most 50', async () => {
    const provider = providerOf();
    await baton.pool.run(sql`
      insert into admission_rules (id, issuer, iam_tenant_id, identity_provider, tenant_id, access_role)
      values (${newId()}, ${baton.issuer.issuer}, ${baton.tenantId}, ${provider}, ${baton.otherTenantId}, 'member')`);
    refused(await rule(provider), 409, 'admission_rule_elsewhere');
    await baton.pool.run(sql`
      insert into admission_rules (id, issuer, iam_tenant_id, identity_provider, tenant_id, access_role)
      select gen_random_uuid(), ${baton.issuer.issuer}, ${baton.otherTenantId}, 'many-' || n, ${baton.otherTenantId}, 'member'
      from generate_series(1, 49) n`);
    refused(await rule(providerOf(), 'member', baton.otherAdmin), 409, 'admission_rule_limit', { max: 50 });
  });
});

/** The types of the events of an entity, in order. */
async function eventsOf(entityId: string) {
  const rows = await baton.pool.rows(sql<{ type: string }>`
    select type from events where entity_id = ${entityId} order by position, sequence`);
  const types = rows.map(({ type }) => type);
  return { types, events: types };
}
