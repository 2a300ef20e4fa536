import { after, before, test } from 'node:test';
import { longTest } from '@baton/testing/depth';
import { startIdentity, type TestIdentity, testSigningKey } from '../../testing/identity.ts';
import { makeAudience, makeTenant } from '../../testing/objects.ts';
import { actAmid } from '../../testing/traffic.ts';
import { ask, makePerson, type Person, signInWith } from './testing/people.ts';

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

for (const [parallel, register] of [
  [12, test],
  [200, longTest],
] as const)
  for (const [what, request] of [
    ['sign-ins by one passkey', ({ authenticator }: Person) => signInWith(identity, authenticator)],
    [
      'exchanges of one browser session',
      ({ token }: Person) =>
        ask(identity, '/browser-sessions:exchange', { token, audience: 'control-plane' }),
    ],
  ] as const)
    register(`a disable wins against ${parallel} parallel ${what}`, async () => {
      const tenantId = await makeTenant(identity);
      await makeAudience(identity, tenantId);
      const person = await makePerson(identity, tenantId);
      await actAmid(identity, {
        parallel,
        request: () => request(person),
        act: () => identity.post(`/tenants/${tenantId}/principals/${person.principalId}:disable`),
      });
    });
