import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { startIdentity, testSigningKey } from '../testing/identity.ts';
import { makeRealm, newSubject, routes, signInBy } from './testing/sign-in.ts';
import { startUpstream } from './testing/upstream.ts';

test('no upstream token is found in the store or the log, accepted or refused; subjects stay in their table', async () => {
  const identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  const upstream = await startUpstream();
  const realm = await makeRealm(identity, upstream, { externalIdClaim: 'employee' });
  const [subject, employee] = [newSubject(), `employee-${randomUUID()}`];
  const tokens = [
    await upstream.sign({ sub: subject, employee }),
    await upstream.sign({ sub: subject, employee: 'other' }),
    await upstream.sign({ sub: subject, exp: 1 }),
    await upstream.sign({ sub: subject }, { typ: 'at+jwt' }),
    `${await upstream.sign({ sub: subject })}x`,
  ];
  for (const token of tokens)
    for (const route of routes) {
      const { status, body } = await signInBy(identity, realm, token, route);
      assert.ok(status === 200 || !JSON.stringify(body).includes(token));
    }
  for (const body of [{ tokenn: tokens[0] }, { token: { value: tokens[0] } }, `{"token":"${tokens[0]}`]) {
    const path = `/api/v1/tenants/${realm.tenantId}/federation:authenticate`;
    const answer = await identity.request('POST', path, { body });
    assert.equal(answer.status, 422);
    assert.ok(!JSON.stringify(answer.body).includes(tokens[0] as string));
  }
  const texts = new Map([['the log', identity.logged.join('')]]);
  for (const { name } of await identity.pool.rows<{ name: string }>({
    text: "select table_name as name from information_schema.tables where table_schema = 'public'",
    values: [],
  })) {
    const rows = await identity.pool.rows<{ row: string }>({
      text: `select t::text as row from ${name} t`,
      values: [],
    });
    texts.set(name, rows.map(({ row }) => row).join('\n'));
  }
  assert.ok((texts.get('audit_records') ?? '').includes('token_expired'));
  for (const [name, text] of texts) {
    for (const token of tokens)
      for (const part of token.split('.').slice(1))
        assert.ok(!text.includes(part), `${name} holds a part of a token`);
    if (name !== 'external_identities') assert.ok(!text.includes(subject), `${name} holds a subject`);
    // The name of a person who was made by a sign-in is made of it.
    if (name !== 'external_identities' && name !== 'principals')
      assert.ok(!text.includes(employee), `${name} holds an external id`);
  }
  await identity.close();
  await upstream.close();
});
