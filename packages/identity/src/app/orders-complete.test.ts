import assert from 'node:assert/strict';
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import { endpointName } from '@baton/kernel/http/service';
import { endpoints } from './endpoints.ts';

/** The endpoints whose order of refusals is tested in another form, with the reason. The list may only shrink. */
const elsewhere: Readonly<Record<string, string>> = {
  'POST /oauth2/token': 'a form with the errors of RFC 6749: oauth2/*.test.ts, oauth/*.test.ts',
  'POST /oauth2/introspect': 'a form with the errors of RFC 6749: oauth2/*.test.ts',
  'POST /oauth2/revoke': 'a form with the errors of RFC 6749: oauth2/*.test.ts',
  'POST /oauth2/device-authorization': 'a form with the errors of RFC 8628: oauth/refused-requests.test.ts',
  'POST /passkeys:sign-in-options': 'refuses nothing but a body',
  'POST /scim/v2/.search': 'a search, with the refusals of a filter: scim/root-search/root-search.test.ts',
  'POST /scim/v2/Users/.search': 'the same',
  'POST /scim/v2/Groups/.search': 'the same',
};

test('the order of refusals of every write is in a table', async () => {
  const texts: string[] = [];
  for await (const file of glob('**/*order-of-*.test.ts', { cwd: join(import.meta.dirname, '..') }))
    texts.push(await readFile(join(import.meta.dirname, '..', file), 'utf8'));
  const tables = texts.join('\n');
  const isListed = (name: string) =>
    tables.includes(`'${name}'`) ||
    // The tables for SCIM are written once for both users and groups.
    tables.includes(`\`${name.replace(/\/(Users|Groups)/, '/${noun}')}\``);
  const writes = endpoints.filter(({ method }) => method !== 'GET').map(endpointName);
  assert.deepEqual(
    writes.filter((name) => !isListed(name)),
    writes.filter((name) => name in elsewhere),
  );
  assert.deepEqual(
    Object.keys(elsewhere).filter((name) => !writes.includes(name)),
    [],
  );
});
