import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, before, describe, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeTenant } from '../../testing/objects.ts';
import { auditActions, auditOf, journalOf, storeCounts } from '../../testing/records.ts';
import { untilBlocked } from '../../testing/waiting.ts';
import { type Deviations, VirtualAuthenticator } from './testing/authenticator.ts';
import {
  acceptByPasskey,
  addPasskey,
  ask,
  makePerson,
  type Person,
  passkeyIds,
  signInWith,
} from './testing/people.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_PASSKEYS_PER_PERSON_MAX: '3',
  });
  tenantId = await makeTenant(identity);
});
after(() => identity.close());

const pathOf = ({ tenantId, principalId }: Person) =>
  `/tenants/${tenantId}/principals/${principalId}/passkeys`;
const remove = (person: Person, id: string, query = '') =>
  identity.request('DELETE', `/api/v1${pathOf(person)}/${id}${query}`, {
    headers: { 'x-iam-bootstrap-token': identity.env['IAM_BOOTSTRAP_TOKEN'] as string },
  });

describe('another passkey of a person', () => {
  test('is not added by a stolen session that ends meanwhile: a recovery leaves one passkey only', async () => {
    const person = await makePerson(identity, tenantId);
    const { token, principalId } = person;
    const { publicKey, state } = await made(ask(identity, '/passkeys:registration-options', { token }));
    const credential = new VirtualAuthenticator().create(publicKey);
    const path = `/tenants/${tenantId}/principals/${principalId}/recovery-links`;
    const link = await made(identity.post(path, { replaceCredentials: true }));
    const [recovering, adding] = await identity.pool.transaction(async (db) => {
      // The recovery holds the person's lock; the stolen session's passkey has been verified, and its registration
      // waits for the lock.
      await db.run(sql`lock table passkeys in exclusive mode`);
      const first = acceptByPasskey(identity, link.token);
      await untilBlocked(identity, 1);
      const second = ask(identity, '/passkeys:register', { token, state, credential, name: 'Thief' });
      await untilBlocked(identity, 2);
      return [first, second] as const;
    });
    assert.equal((await recovering).status, 200);
    const { status, body } = await adding;
    assert.deepEqual([status, body.detail], [401, 'invalid_token']);
    assert.equal((await passkeyIds(identity, person)).length, 1);
  });

  test('is added with a recent sign-in, shares the handle of the first, and excludes the known ones', async () => {
    const person = await makePerson(identity, tenantId);
    const { token, principalId, authenticator } = person;
    const { publicKey } = await made(ask(identity, '/passkeys:registration-options', { token }));
    assert.deepEqual(
      [publicKey.rp, publicKey.user.id, publicKey.attestation, publicKey.authenticatorSelection],
      [
        { name: 'Baton', id: 'localhost' },
        authenticator.userHandle,
        'none',
        { residentKey: 'required', requireResidentKey: true, userVerification: 'required' },
      ],
    );
    assert.deepEqual(
      publicKey.pubKeyCredParams.map(({ alg }: { alg: number }) => alg),
      [-8, -7, -257],
    );
    assert.deepEqual(
      publicKey.excludeCredentials.map(({ id }: { id: string }) => id),
      [authenticator.credentialId],
    );
    const phone = new VirtualAuthenticator({ algorithm: 'EdDSA', isSynced: false });
    const { status, body } = await addPasskey(identity, token, phone);
    assert.equal(status, 201);
    const { id, createdAt, ...rest } = body;
    assert.ok(Date.parse(createdAt) > 0);
    assert.deepEqual(rest, {
      principalId,
      name: 'Another',
      isSynced: false,
      isBackedUp: false,
      lastUsedAt: null,
    });
    assert.equal((await signInWith(identity, phone)).body.session.passkeyId, id);
    assert.equal((await signInWith(identity, authenticator)).status, 200);
    const event = (await journalOf(identity, tenantId)).find(({ aggregate_id }) => aggregate_id === id);
    assert.deepEqual([event.type, event.aggregate_type], ['passkey.registered', 'passkey']);
    assert.deepEqual(Object.keys(event.payload).sort(), ['externalIdentityId', 'passkeyId', 'principalId']);
  });

  test('is refused later than 300 s after the sign-in, so that a stolen session adds none', async () => {
    const { token, principalId } = await makePerson(identity, tenantId);
    const options = await made(ask(identity, '/passkeys:registration-options', { token }));
    const credential = new VirtualAuthenticator().create(options.publicKey);
    await identity.pool.run(sql`
      update browser_sessions set auth_time = auth_time - interval '301 s' where principal_id = ${principalId}`);
    for (const [path, body] of [
      ['/passkeys:registration-options', { token }],
      ['/passkeys:register', { token, state: options.state, credential, name: 'x' }],
    ] as const) {
      const answer = await ask(identity, path, body);
      assert.deepEqual([answer.status, answer.body], [403, { detail: 'authentication_context_expired' }]);
    }
  });

  const certificates = new Map([['x5c', new Uint8Array(8)]]);
  const deviations: Record<string, Deviations> = {
    'of another origin': { origin: 'https://evil.example' },
    'of a frame': { crossOrigin: true },
    'of another relying party': { rpId: 'evil.example' },
    'for another challenge': { challenge: 'AAAA' },
    'that is a sign-in': { type: 'webauthn.get' },
    'without user verification': { userVerified: false },
    'without a user': { userPresent: false },
    'with certificates, whose addresses would be fetched': {
      attestation: { fmt: 'packed', attStmt: certificates },
    },
    'with another format': { attestation: { fmt: 'android-safetynet', attStmt: new Map() } },
  };
  for (const [name, deviation] of Object.entries(deviations))
    test(`is refused ${name}`, async () => {
      const { token } = await makePerson(identity, tenantId);
      const before = await storeCounts(identity);
      const { status, body } = await addPasskey(identity, token, new VirtualAuthenticator(), deviation);
      assert.deepEqual([status, body], [422, { detail: 'passkey_rejected' }]);
      assert.deepEqual(await storeCounts(identity), before);
      if (deviation.attestation?.attStmt === certificates)
        assert.ok(identity.logged.at(-1)?.includes('attestation_with_certificates'), identity.logged.at(-1));
    });

  test('is refused with a used state, with the state of somebody else, and with a broken response', async () => {
    const [one, other] = [await makePerson(identity, tenantId), await makePerson(identity, tenantId)];
    const { publicKey, state } = await made(
      ask(identity, '/passkeys:registration-options', { token: one.token }),
    );
    const wanted = { state, credential: new VirtualAuthenticator().create(publicKey), name: 'x' };
    const register = (token: string, body: object) => ask(identity, '/passkeys:register', { token, ...body });
    assert.equal((await register(other.token, wanted)).body.detail, 'passkey_rejected');
    assert.equal((await register(one.token, wanted)).status, 201);
    const again = { ...wanted, credential: new VirtualAuthenticator().create(publicKey) };
    assert.equal((await register(one.token, again)).body.detail, 'passkey_rejected');
    const fresh = await made(ask(identity, '/passkeys:registration-options', { token: one.token }));
    const { response } = wanted.credential as { response: object };
    for (const broken of [
      { clientDataJSON: 'AAAA' },
      { attestationObject: 'AAAA' },
      { clientDataJSON: 'bnVsbA' },
    ]) {
      const credential = { ...wanted.credential, response: { ...response, ...broken } };
      const answer = await register(one.token, { ...wanted, state: fresh.state, credential });
      assert.deepEqual([answer.status, answer.body.detail], [422, 'passkey_rejected']);
    }
  });

  test('is refused if it is registered already', async () => {
    const [one, other] = [await makePerson(identity, tenantId), await makePerson(identity, tenantId)];
    const { credentialId } = one.authenticator;
    const answer = await addPasskey(identity, other.token, new VirtualAuthenticator(), { credentialId });
    assert.deepEqual([answer.status, answer.body], [409, { detail: 'passkey_exists' }]);
  });

  test('is refused beyond the maximum, also of parallel registrations', async () => {
    const person = await makePerson(identity, tenantId);
    const { token } = person;
    const options = await Promise.all(
      Array.from({ length: 8 }, () => made(ask(identity, '/passkeys:registration-options', { token }))),
    );
    const answers = await Promise.all(
      options.map(({ publicKey, state }) => {
        const credential = new VirtualAuthenticator().create(publicKey);
        return ask(identity, '/passkeys:register', { token, state, credential, name: 'x' });
      }),
    );
    const outcomes = answers.map(({ status, body }) => (status === 201 ? 'added' : body.detail)).sort();
    assert.deepEqual(outcomes, ['added', 'added', ...Array(6).fill('too_many_passkeys')]);
    const late = await ask(identity, '/passkeys:registration-options', { token });
    assert.deepEqual([late.status, late.body.detail], [409, 'too_many_passkeys']);
    assert.equal((await passkeyIds(identity, person)).length, 3);
  });
});

describe('passkeys of a person', () => {
  test('are listed and renamed by the person and by an administrator', async () => {
    const person = await makePerson(identity, tenantId);
    const { token } = person;
    const listed = await made(ask(identity, '/passkeys:list', { token }));
    assert.deepEqual(listed, await made(identity.get(pathOf(person))));
    const [{ id: passkeyId, name }] = listed.items;
    assert.equal(name, 'Laptop');
    const renamed = await made(ask(identity, '/passkeys:rename', { token, passkeyId, name: 'Phone' }));
    assert.equal(renamed.name, 'Phone');
    assert.equal((await identity.patch(`${pathOf(person)}/${passkeyId}`, { name: 'Key' })).body.name, 'Key');
    const before = await journalOf(identity, tenantId);
    assert.equal((await identity.patch(`${pathOf(person)}/${passkeyId}`, { name: 'Key' })).status, 200);
    assert.deepEqual(await journalOf(identity, tenantId), before, 'the same name changes nothing');
    assert.deepEqual(
      before.filter(({ aggregate_id }) => aggregate_id === passkeyId).map(({ type }) => type),
      ['passkey.registered', 'passkey.updated', 'passkey.updated'],
    );
    const actions = await auditActions(identity, tenantId);
    assert.ok(actions.filter((action) => action === 'allowed passkeys.update').length === 2);
  });

  test('of somebody else are not found', async () => {
    const [one, other] = [await makePerson(identity, tenantId), await makePerson(identity, tenantId)];
    const [passkeyId = ''] = await passkeyIds(identity, other);
    const elsewhere = await makePerson(identity, await makeTenant(identity));
    for (const answer of [
      await ask(identity, '/passkeys:rename', { token: one.token, passkeyId, name: 'x' }),
      await ask(identity, '/passkeys:remove', { token: one.token, passkeyId }),
      await identity.patch(`${pathOf(one)}/${passkeyId}`, { name: 'x' }),
      await remove(one, passkeyId),
      await remove({ ...other, tenantId: elsewhere.tenantId }, passkeyId),
    ])
      assert.deepEqual([answer.status, answer.body], [404, { detail: 'passkey_not_found' }]);
    const unknown = `/tenants/${tenantId}/principals/${randomUUID()}/passkeys`;
    assert.equal((await identity.get(unknown)).body.detail, 'principal_not_found');
  });

  test('the last one stays unless another way in exists or an administrator insists', async () => {
    const person = await makePerson(identity, tenantId);
    const { token, principalId } = person;
    const [passkeyId = ''] = await passkeyIds(identity, person);
    const attempts = [
      () => ask(identity, '/passkeys:remove', { token, passkeyId }),
      () => remove(person, passkeyId),
    ];
    for (const attempt of attempts) assert.deepEqual((await attempt()).body, { detail: 'last_passkey' });
    const provider = { key: `idp-${randomUUID()}`, issuer: `https://${randomUUID()}.example`, audience: 'x' };
    const { id: providerId } = await made(identity.post(`/tenants/${tenantId}/identity-providers`, provider));
    await identity.pool.run(sql`
      insert into external_identities (id, tenant_id, principal_id, issuer, subject, source, identity_provider_id)
      values (${randomUUID()}, ${tenantId}, ${principalId}, ${provider.issuer}, ${randomUUID()}, 'federated', ${providerId})`);
    await made(identity.post(`/tenants/${tenantId}/identity-providers/${provider.key}:disable`));
    assert.equal((await remove(person, passkeyId)).body.detail, 'last_passkey');
    await made(identity.post(`/tenants/${tenantId}/identity-providers/${provider.key}:enable`));
    assert.equal((await ask(identity, '/passkeys:remove', { token, passkeyId })).status, 204);
    const other = await makePerson(identity, tenantId);
    const [lastId = ''] = await passkeyIds(identity, other);
    assert.equal((await remove(other, lastId, '?withLast=true')).status, 204);
    assert.equal((await signInWith(identity, other.authenticator)).status, 401);
  });

  test('are neither renamed nor removed later than 300 s after the sign-in, and the attempt is audited', async () => {
    const person = await makePerson(identity, tenantId);
    const { token, principalId, authenticator } = person;
    await made(addPasskey(identity, token));
    const [passkeyId = ''] = await passkeyIds(identity, person);
    await identity.pool.run(sql`
      update browser_sessions set auth_time = auth_time - interval '301 s' where principal_id = ${principalId}`);
    const before = await journalOf(identity, tenantId);
    const acts = [
      ['rename', { passkeyId, name: 'Thief' }],
      ['remove', { passkeyId }],
    ] as const;
    for (const [act, body] of acts) {
      const answer = await ask(identity, `/passkeys:${act}`, { token, ...body });
      assert.deepEqual([answer.status, answer.body], [403, { detail: 'authentication_context_expired' }]);
    }
    assert.deepEqual(await journalOf(identity, tenantId), before);
    assert.equal((await passkeyIds(identity, person)).length, 2);
    const denied = (await auditOf(identity, tenantId)).filter(
      ({ outcome, actor_ref }) => outcome === 'denied' && actor_ref === principalId,
    );
    assert.deepEqual(
      denied.map(({ action, resource_id }) => [action, resource_id]),
      [
        ['passkeys.update', person.session.id],
        ['passkeys.remove', person.session.id],
      ],
    );
    for (const { reason } of denied)
      assert.match(reason, /^session:[0-9a-f]{12} authentication_context_expired$/);
    const { token: fresh } = (await signInWith(identity, authenticator)).body;
    for (const [act, body] of acts)
      assert.ok((await ask(identity, `/passkeys:${act}`, { token: fresh, ...body })).status < 300);
  });

  test('two removals at the same time do not take the last two', async () => {
    const person = await makePerson(identity, tenantId);
    await made(addPasskey(identity, person.token));
    const ids = await passkeyIds(identity, person);
    const answers = await Promise.all(ids.map((id) => remove(person, id)));
    assert.deepEqual(answers.map(({ status }) => status).sort(), [204, 409]);
  });

  test('removal ends the sessions that the passkey began, and no others', async () => {
    const person = await makePerson(identity, tenantId);
    const phone = new VirtualAuthenticator();
    const { id: phoneId } = await made(addPasskey(identity, person.token, phone));
    const { token: onPhone } = (await signInWith(identity, phone)).body;
    assert.equal(
      (await ask(identity, '/passkeys:remove', { token: onPhone, passkeyId: phoneId })).status,
      204,
    );
    assert.equal((await ask(identity, '/passkeys:list', { token: onPhone })).body.detail, 'invalid_token');
    assert.equal((await ask(identity, '/passkeys:list', { token: person.token })).status, 200);
    const types = (await journalOf(identity, tenantId)).slice(-2).map(({ type }) => type);
    assert.deepEqual(types, ['passkey.removed', 'browser_session.revoked']);
    assert.equal((await remove(person, phoneId)).status, 404);
  });
});

test("no identity provider can have the issuer of the passkeys' identities", async () => {
  for (const issuer of ['http://localhost:8010/iam/passkeys', 'http://localhost:8010/iam/passkeys/']) {
    const wanted = { key: 'ours', issuer, audience: 'x' };
    const { status, body } = await identity.post(`/tenants/${tenantId}/identity-providers`, wanted);
    assert.deepEqual([status, body], [422, { detail: 'invalid_issuer' }]);
  }
});

test('every call of a signed-in person takes a live session only, and counts its failures', async () => {
  const strict = await identity.another({ IAM_FAILURES_PER_ADDRESS_MAX: '1' });
  const { token } = await makePerson(identity, tenantId);
  const { publicKey, state } = await made(ask(identity, '/passkeys:registration-options', { token }));
  const created = { state, credential: new VirtualAuthenticator().create(publicKey), name: 'x' };
  for (const [action, body] of [
    ['registration-options', {}],
    ['register', created],
    ['list', {}],
    ['rename', { passkeyId: randomUUID(), name: 'x' }],
    ['remove', { passkeyId: randomUUID() }],
  ] as const) {
    const wanted = { token: `iam_ses_${'0'.repeat(12)}_x`, ...body };
    assert.deepEqual((await ask(identity, `/passkeys:${action}`, wanted)).body, { detail: 'invalid_token' });
    await ask(strict, `/passkeys:${action}`, wanted);
    assert.equal((await ask(strict, `/passkeys:${action}`, wanted)).status, 429, action);
  }
});
