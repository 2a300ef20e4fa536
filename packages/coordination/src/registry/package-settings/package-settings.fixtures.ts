import { defineFixtures, defineObject } from '../../testing/app/fixtures.ts';
import { installSettings } from '../../testing/packages/packages.ts';

/** An installed package with settings. */
const installedPackage = defineObject({
  path: '/packages/{key}',
  make: ({ baton, actor }) => installSettings(baton, actor),
});

export default defineFixtures({ objects: [installedPackage] });
