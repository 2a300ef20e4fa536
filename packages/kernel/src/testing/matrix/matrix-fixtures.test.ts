import assert from 'node:assert/strict';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { z } from 'zod';
import { endpointsOf } from '../../http/service.ts';
import {
  collectFixtures,
  findFixtureProblems,
  fixturesOf,
  joinFixtures,
  makeFixtureRequest,
} from './matrix-fixtures.ts';

interface Tenant {
  readonly name: string;
  readonly made: string[];
}

const endpoint = endpointsOf<{ code: string; permission: string; auth: string; context: object }>();
const { defineObject, defineFixtures } = fixturesOf<Tenant>();

const paintDoor = endpoint({
  id: 'paintDoor',
  method: 'POST',
  path: '/houses/{house}/doors/{id}:paint',
  summary: 'Paint a door.',
  params: { house: z.string(), id: z.string() },
  body: z.strictObject({ colour: z.string(), keyId: z.string() }),
  returns: { 204: null },
  example: { colour: 'red', keyId: 'a key' },
  handle: () => undefined,
});

const house = defineObject({
  path: '/houses/{house}',
  make({ name, made }) {
    made.push('house');
    return { house: `house of ${name}` };
  },
});
const door = defineObject({
  path: '/houses/{house}/doors/{id}',
  async make({ made, get }) {
    made.push('door');
    return { id: `door of the ${(await get(house)).house}` };
  },
});
const unused = defineObject({ make: () => assert.fail('nothing needs it') });
const key = defineObject({
  async make({ made, get }) {
    made.push('key');
    return { keyId: `key of the ${(await get(door)).id}` };
  },
});

test('a request gets the objects that its path and its operation name, each made once', async () => {
  const fixtures = joinFixtures(
    [
      defineFixtures({ objects: [door, unused] }),
      defineFixtures({
        objects: [house],
        operations: { paintDoor: async ({ get }) => ({ body: await get(key) }) },
      }),
    ],
    () => '',
  );
  assert.deepEqual(findFixtureProblems(fixtures, [paintDoor]), []);
  const tenant = { name: 'Ada', made: [] };
  const params = { house: 'house of Ada', id: 'door of the house of Ada' };
  assert.deepEqual(await makeFixtureRequest(fixtures, paintDoor, tenant), {
    params,
    body: { colour: 'red', keyId: 'key of the door of the house of Ada' },
  });
  assert.deepEqual(tenant.made, ['key', 'door', 'house']);
  const other = await makeFixtureRequest(fixtures, paintDoor, { name: 'Bob', made: [] });
  assert.equal(other.params['id'], 'door of the house of Bob');
});

test('what is missing or left over is named, with the file to write', async () => {
  const folder = await mkdtemp(join(tmpdir(), 'baton-fixtures-'));
  try {
    await mkdir(join(folder, 'doors'));
    await writeFile(join(folder, 'doors/doors.api.ts'), `endpoint({ id: 'paintDoor' })`);
    await writeFile(
      join(folder, 'doors/windows.fixtures.ts'),
      `export default { objects: [{ path: '/windows/{id}' }], operations: { breakWindow: () => ({}) } };`,
    );
    const problems = findFixtureProblems(await collectFixtures<Tenant>(folder), [paintDoor]);
    assert.equal(problems.length, 4);
    assert.match(
      problems[1] ?? '',
      /^paintDoor \(POST .+\) has a parameter \{id\} that no fixture makes: write .+\/doors\/doors\.fixtures\.ts with defineObject\(\{ path: '\/houses\/\{house\}\/doors\/\{id\}', make \}\)/,
    );
    assert.deepEqual(problems.slice(2), [
      "The fixture for /windows/{id} belongs to no operation's path: delete it, or its path.",
      'A fixture is declared for the operation breakWindow, which does not exist.',
    ]);
  } finally {
    await rm(folder, { recursive: true });
  }
});

test('two fixtures for one path or operation are refused', () => {
  const again = defineObject({ path: '/houses/{house}', make: () => ({ id: 'another' }) });
  assert.throws(() => joinFixtures([{ objects: [house] }, { objects: [again] }], () => ''), {
    message: 'Two fixtures are declared for /houses/{house}.',
  });
});
