import assert from 'node:assert/strict';
import { appendFile, readFile, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { createTestDatabase, type TestDatabase } from '@baton/kernel/testing/database/database';
import { checkStatements, type StatementReport } from './statements.ts';
import { copyWorkTree, repository } from './testing/work-tree.ts';

/** Statements whose declared row types differ from PostgreSQL's description. */
const plantedFile = 'packages/coordination/src/service/planted.sql.ts';
const planted = `import { sql, type Statement } from '@baton/kernel/database/sql';
export const findExtra = () => sql<{ id: string; colour: string }>\`select id from tenants\`;
export const findMissing = () => sql<{ id: string }>\`select id, public_number from tasks\`;
export const findMistyped = () => sql<{ id: number; version: number; payload: { a: string } | null }>\`
  select id, version, null::jsonb as payload from tasks\`;
export const findTwice = () => sql<{ id: string }>\`select a.id, b.id from tasks a, tasks b\`;
export const findNowhere = () => sql<{ id: string }>\`select id from nowhere\`;
export const findSeveral = () => sql<{ id: string; colour: string; n: boolean }>\`select id, version, 1 as n from tasks\`;
export const findRight = () => sql<{ id: string | null; permissions: string[]; n: number; is_on: boolean }>\`
  select id, permissions, count(*) as n, true as is_on from api_keys group by id\`;
export const findEither = () => sql<{ n: number } & ({ id: string } | { id: null })>\`select 1 as n, null::uuid as id\`;
export const findBuilt = (): Statement<{ id: string }> => ({ text: 'select 1', values: [] });
export const findIndirectly = () => findRight();
`;

/** Entries of the list that aren't needed. */
const needless = {
  'packages/kernel/src/http/idempotency.sql.ts: planted': '',
  'packages/kernel/src/planted-missing.sql.ts: findMissing': '',
};
const isAbout = (problem: string, place: string) => problem.startsWith(place.split(': ')[0] as string);

let root: string;
let report: StatementReport;
const databases: TestDatabase[] = [];

before(async () => {
  root = await copyWorkTree(['packages', 'bin']);
  await appendFile(join(root, plantedFile), planted);
  const urls: Record<string, string> = {};
  for (const service of ['identity', 'coordination']) {
    const database = await createTestDatabase(join(repository, 'packages', service, 'migrations'));
    databases.push(database);
    urls[service] = database.url;
  }
  const listed = JSON.parse(await readFile(join(import.meta.dirname, 'statements.allow.json'), 'utf8'));
  const urlOf = (pack: string) => (urls[pack] ?? urls.coordination) as string;
  report = await checkStatements(root, urlOf, { ...listed, ...needless });
});

after(async () => {
  for (const database of databases) await database.drop();
  await rm(root, { recursive: true, force: true });
});

test('every statement returns the row that it declares', () => {
  assert.deepEqual(
    report.problems.filter(
      (problem) => ![plantedFile, ...Object.keys(needless)].some((place) => isAbout(problem, place)),
    ),
    [],
  );
  assert.ok(report.compared > 150, `only ${report.compared} statements were compared`);
});

test('a wrong column of a declared row is reported, and a correct one is not', () => {
  const found = report.problems
    .filter((problem) => problem.startsWith(plantedFile))
    .map((problem) => problem.slice(plantedFile.length).replace(/,\d+\)/, ')'));
  assert.deepEqual(found.sort(), [
    '(2): "colour is declared, but not returned"',
    '(3): "public_number is returned, but not declared"',
    '(4): "id is declared with another type"',
    '(6) returns id twice',
    '(7) relation "nowhere" does not exist',
    '(8): "colour is declared, but not returned" | "n is declared with another type" | "version is returned, but not declared"',
    `: returns a statement that isn't compared: "findBuilt"`,
  ]);
});

test('a statement is in the list of those not compared only if it must be', () => {
  const found = report.problems.filter((problem) =>
    Object.keys(needless).some((key) => isAbout(problem, key)),
  );
  assert.deepEqual(found, [
    `packages/kernel/src/http/idempotency.sql.ts: needn't be listed any more: "planted"`,
    'packages/kernel/src/planted-missing.sql.ts: findMissing: there is no such file: "listed"',
  ]);
});
