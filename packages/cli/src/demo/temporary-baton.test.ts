import assert from 'node:assert/strict';
import { test } from 'node:test';
import { withSettings } from './temporary-baton.ts';

test("no spelling of a setting overrides the demo's", () => {
  const environment = { BATON_HOME: '/a', baton_home: '/b', Port: '1', PATH: '/bin', IAM_DATABASE_URL: 'x' };
  assert.deepEqual(withSettings(environment, { BATON_HOME: '/tmp/demo', PORT: '2' }), {
    PATH: '/bin',
    IAM_DATABASE_URL: 'x',
    BATON_HOME: '/tmp/demo',
    PORT: '2',
  });
});
