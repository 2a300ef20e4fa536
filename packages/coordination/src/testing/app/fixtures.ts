import { fixturesOf } from '@baton/kernel/testing/matrix/matrix-fixtures';
import type { Actor, TestCoordination } from '../coordination.ts';

/** The tools for the `*.fixtures.ts` files of the features. */
export interface FixtureTenant {
  readonly baton: TestCoordination;
  /** Creates the feature's objects, in a tenant of their own, with all permissions. */
  readonly actor: Actor;
}

export const { defineObject, defineFixtures } = fixturesOf<FixtureTenant>();
