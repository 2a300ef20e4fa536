import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { type Answer, startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { made, makeTenant } from '../../testing/objects.ts';
import { untilBlocked } from '../../testing/waiting.ts';
import { VirtualAuthenticator } from '../passkeys/testing/authenticator.ts';
import {
  acceptByPasskey,
  addPasskey,
  ask,
  makePerson,
  type Person,
  passkeyIds,
  signInWith,
} from '../passkeys/testing/people.ts';

let identity: TestIdentity;
let tenantId: string;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
  tenantId = await makeTenant(identity);
});
after(() => identity.close());

/** What a thief does with the lost passkey and the session that it began, and the code that refuses it. */
const acts: Record<string, { code: string; act: (person: Person, passkeyId: string) => Promise<Answer> }> = {
  'signs in with the lost passkey': {
    code: 'invalid_passkey',
    act: ({ authenticator }) => signInWith(identity, authenticator),
  },
  'signs out all other browsers': {
    code: 'invalid_token',
    act: ({ token }) => ask(identity, '/browser-sessions:revoke-others', { token }),
  },
  'signs out everybody': {
    code: 'invalid_token',
    act: ({ token }) => ask(identity, '/browser-sessions:revoke-others', { token, withThis: true }),
  },
  'signs out one browser': {
    code: 'invalid_token',
    act: ({ token, session }) =>
      ask(identity, '/browser-sessions:revoke', { token, browserSessionId: session.id }),
  },
  'removes a passkey': {
    code: 'invalid_token',
    act: ({ token }, passkeyId) => ask(identity, '/passkeys:remove', { token, passkeyId }),
  },
  'renames a passkey': {
    code: 'invalid_token',
    act: ({ token }, passkeyId) => ask(identity, '/passkeys:rename', { token, passkeyId, name: 'x' }),
  },
};

for (const [what, { code, act }] of Object.entries(acts))
  test(`a recovery wins against a thief who ${what} at the same time`, async () => {
    const person = await makePerson(identity, tenantId);
    const { token, principalId } = person;
    const { id: passkeyId } = await made(addPasskey(identity, token));
    const path = `/tenants/${tenantId}/principals/${principalId}/recovery-links`;
    const link = await made(identity.post(path, {}));
    const fresh = new VirtualAuthenticator();
    const [recovering, acting] = await identity.pool.transaction(async (db) => {
      // The recovery has locked the person and waits for the table; the thief's request has been admitted and waits for
      // the person.
      await db.run(sql`lock table passkeys in exclusive mode`);
      const first = acceptByPasskey(identity, link.token, fresh);
      await untilBlocked(identity, 1);
      const second = act(person, passkeyId);
      await untilBlocked(identity, 2);
      return [first, second] as const;
    });
    const recovered = await made(recovering);
    const { status, body } = await acting;
    assert.deepEqual([status, body], [401, { detail: code }]);
    const { items } = await made(ask(identity, '/browser-sessions:list', { token: recovered.token }));
    assert.equal(items.length, 1, 'only the session of the recovery lives');
    assert.equal((await passkeyIds(identity, person)).length, 1);
    assert.equal((await signInWith(identity, fresh)).status, 200);
    assert.equal((await signInWith(identity, person.authenticator)).status, 401);
  });
