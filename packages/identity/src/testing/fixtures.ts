import { fixturesOf } from '@baton/kernel/testing/matrix/matrix-fixtures';
import type { Upstream } from '../sign-in/federation/testing/upstream.ts';
import type { TestIdentity } from './identity.ts';
import type { Provisioning } from './provisioning.ts';

/** The helpers that the features' `*.fixtures.ts` use to create their objects. */
export interface FixtureTenant {
  readonly identity: TestIdentity;
  /** The provider that signs users in. */
  readonly upstream: Upstream;
  /** The SCIM source whose users and groups are created. All other objects belong to the tenant of their request. */
  readonly source: Provisioning;
}

export const { defineObject, defineFixtures } = fixturesOf<FixtureTenant>();
