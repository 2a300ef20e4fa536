import { after, before } from 'node:test';
import { type Attempt, attemptOf, type CheckOrder, fault, orderTests } from '../../testing/check-order.ts';
import { absent, malformed, unknownTenant, withFields, without } from '../../testing/faults.ts';
import {
  delegationHeader,
  startIdentity,
  type TestIdentity,
  testSigningKey,
} from '../../testing/identity.ts';
import { makeTenant } from '../../testing/objects.ts';
import { makePerson } from '../passkeys/testing/people.ts';
import { bodyOf, issueToken } from './testing/administration.ts';

/** The order in which administration tokens are checked: docs/reference/administration-tokens.md. */

let identity: TestIdentity;
before(async () => {
  identity = await startIdentity({ IAM_SIGNING_PRIVATE_KEY: testSigningKey() });
});
after(() => identity.close());

async function prepare(): Promise<Attempt> {
  const tenantId = await makeTenant(identity);
  const person = await makePerson(identity, tenantId);
  const { id: administrationTokenId } = await issueToken(identity, person);
  return attemptOf({ tenantId, administrationTokenId }, bodyOf(person), delegationHeader);
}

const orders: CheckOrder[] = [
  {
    endpoint: 'POST /tenants/{tenantId}/administration-tokens',
    prepare,
    faults: [
      // Sent without a service credential rather than with a wrong one, because failures with wrong ones are
      // rate-limited.
      fault('unauthorized', without('authorization')),
      fault('a list', withFields({ nobody: 'requested' }), 'unknown field'),
      malformed('tenantId'),
      unknownTenant,
      fault('fresh_sign_in_required', withFields({ credentialId: '5f0e7a52-6f1c-4d7e-9a53-0a1f7c1f2b3d' })),
    ],
  },
  {
    endpoint: 'POST /tenants/{tenantId}/administration-tokens/{administrationTokenId}:revoke',
    prepare: async () => ({ ...(await prepare()), body: undefined }),
    faults: [
      fault('unauthorized', without('authorization')),
      malformed('administrationTokenId'),
      fault('administration_token_not_found', absent('administrationTokenId')),
    ],
  },
];

orderTests(() => identity, orders);
