import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { after, test } from 'node:test';
import { keepName } from '@baton/kernel/testing/leaks/leaks';
import { startIdentity, testSigningKey } from '../../testing/identity.ts';
import { everyRoute, makeRealm, newSubject, signInBy } from './testing/sign-in.ts';
import { startUpstream } from './testing/upstream.ts';

test('no answer repeats an upstream token, accepted or refused, nor the subject it names', async () => {
  const identity = await startIdentity({
    IAM_SIGNING_PRIVATE_KEY: testSigningKey(),
    IAM_OUTBOUND_ALLOWED_HOSTS: '["127.0.0.1"]',
  });
  const upstream = await startUpstream();
  after(async () => {
    await identity.close();
    await upstream.close();
  });
  const realm = await makeRealm(identity, upstream, { externalIdClaim: 'employee' });
  const [subject, employee] = [newSubject(), `employee-${randomUUID()}`];
  keepName('external id', employee);
  const tokens = [
    await upstream.sign({ sub: subject, employee }),
    await upstream.sign({ sub: subject, employee: 'other' }),
    await upstream.sign({ sub: subject, exp: 1 }),
    await upstream.sign({ sub: subject }, { typ: 'at+jwt' }),
    `${await upstream.sign({ sub: subject })}x`,
  ];
  for (const token of tokens)
    for (const route of everyRoute) {
      const { status, body } = await signInBy(identity, realm, token, route);
      assert.ok([200, 401, 409].includes(status), String(status));
      const text = JSON.stringify(body);
      assert.ok(
        !text.includes(subject) &&
          token
            .split('.')
            .slice(1)
            .every((part) => !text.includes(part)),
      );
    }
  for (const body of [{ tokenn: tokens[0] }, { token: { value: tokens[0] } }, `{"token":"${tokens[0]}`]) {
    const path = `/api/v1/tenants/${realm.tenantId}/federation:authenticate`;
    const answer = await identity.request('POST', path, { body });
    assert.equal(answer.status, 422);
    assert.ok(!JSON.stringify(answer.body).includes(tokens[0] as string));
  }
  // At the end of every run, scripts/leaks.ts searches every place where these secrets must not be stored or logged.
});
