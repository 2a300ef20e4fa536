import { fixturesOf } from '@baton/kernel/testing/matrix-fixtures';
import type { Actor, TestCoordination } from './coordination.ts';

/** What the `*.fixtures.ts` beside the features make their objects with. */
export interface FixtureTenant {
  readonly baton: TestCoordination;
  /** Makes the objects, in its own tenant, and may do everything. */
  readonly actor: Actor;
}

export const { defineObject, defineFixtures } = fixturesOf<FixtureTenant>();
