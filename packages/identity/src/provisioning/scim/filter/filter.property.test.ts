import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '@baton/kernel/http/refusal';
import { processorMsOf } from '@baton/kernel/testing/process/processor-time';
import { assertTookLess, byDepth } from '@baton/testing/depth';
import { startIdentity, type TestIdentity } from '../../../testing/identity.ts';
import { made } from '../../../testing/objects.ts';
import { makeProvisioning, type Provisioning } from '../../../testing/provisioning.ts';
import { type ScimClient, scimClient } from '../../../testing/scim-client.ts';
import { enterpriseUrn, userKind } from '../protocol/schemas.ts';
import {
  filtersOver,
  type GeneratedFilter,
  largestFilters,
  type Resource,
  randomTexts,
  refusedFilters,
} from '../testing/filters.ts';
import { filterCondition } from './filter.sql.ts';
import { parseFilter } from './filter-grammar.ts';
import { SqlValues } from './sql-scope.ts';

/**
 * Generated filters: 40,000 of them are compiled and run in the database, 100 per statement, and a sample is sent over
 * HTTP; `npm test` runs 2,000, with a new seed each time. `IAM_TEST_SCIM_RUNS` multiplies both numbers;
 * `IAM_TEST_SCIM_SEED` repeats a run that failed.
 */
const times = Number(process.env['IAM_TEST_SCIM_RUNS'] ?? 1);
const statements = byDepth(20, 400) * times;
const refusedStatements = byDepth(2, 20) * times;
const largestInAll = byDepth(5, 100) * times;
const randomStatements = byDepth(4, 80) * times;
const filtersInStatement = 100;
const overHttp = byDepth(60, 1200) * times;
const seed = Number(process.env['IAM_TEST_SCIM_SEED'] ?? Date.now() % 2 ** 31);
/**
 * No generated request, statement or parse may take longer, even if many processes share a core.
 */
const answerMsMax = 5000;
const statementMsMax = 8000;
const readMsMax = 1000;

let identity: TestIdentity;
let fixture: Provisioning;
let client: ScimClient;
let base: string;
let users: Resource[] = [];
let filters: fc.Arbitrary<GeneratedFilter>;
before(async () => {
  identity = await startIdentity({ IAM_LOG_LEVEL: 'error' });
  fixture = await makeProvisioning(identity);
  client = scimClient(identity, fixture.token);
  const texts = ['a', 'B', 'ab', 'aB%', 'x_y', 'q"q', 'b\\b', 'é', "o'b:*", '😀', '', undefined];
  const ids: string[] = [];
  for (let n = 0; n < 24; n += 1) {
    const text = (step: number) => texts[(n * step) % texts.length];
    const sent: Resource = {
      userName: `${text(1) || 'u'}${n}`,
      externalId: n % 3 === 0 ? undefined : `E${n}`,
      displayName: text(2) || undefined,
      title: text(3),
      nickName: n === 7 ? `Long ${'y'.repeat(70)}End` : text(5),
      profileUrl: n % 4 === 0 ? `https://example.com/${text(1)}` : undefined,
      active: n % 4 !== 0,
      name: n % 2 === 0 ? { familyName: text(5), givenName: text(7) } : undefined,
      emails: Array.from({ length: n % 3 }, (_, at) => ({
        value: `${text(at + 1) ?? 'm'}@x`,
        type: at === 0 ? 'work' : 'Home',
        primary: at === 1,
        display: at === n % 2 ? text(n) : undefined,
      })),
      phoneNumbers: n % 3 === 1 ? [{ value: '+1' }, { type: 'work' }] : undefined,
      addresses: n % 5 === 2 ? [{ country: text(3), type: 'home' }, { locality: 'L' }] : undefined,
      photos: n % 6 === 0 ? [{ value: 'https://example.com/a' }] : undefined,
      x509Certificates: n % 6 === 1 ? [{ value: 'AAAA' }] : undefined,
      [enterpriseUrn]: n % 5 === 0 ? { department: text(4) || 'd', manager: { value: 'M' } } : undefined,
    };
    ids.push((await made(client.post('/Users', sent))).id);
  }
  const groups = [];
  for (const [displayName, members] of [
    ['Ab', ids.slice(0, 9)],
    ['other', ids.slice(6, 12)],
  ] as const)
    groups.push(
      await made(client.post('/Groups', { displayName, members: members.map((value) => ({ value })) })),
    );
  users = await Promise.all(
    ids.map(async (id) => withoutEmptyGroups((await client.get(`/Users/${id}`)).body)),
  );
  base = String(groups[0].meta.location).replace(/\/Groups\/.*$/, '');
  const instants = users.slice(0, 4).map(({ meta }) => String(meta.created));
  filters = filtersOver(
    [
      'a',
      'A',
      'b',
      'ab',
      'AB%',
      '%',
      '_',
      'x_',
      '"',
      '\\',
      'é',
      'É',
      '😀',
      "'",
      ':*',
      '',
      '1',
      'u',
      'm@x',
      'work',
      'home',
      'E1',
      'M',
      '@x',
      'a@x',
      'B@X',
      'd',
      'direct',
      'other',
      'AAAA',
      '+1',
      'L',
      'W/"1"',
      'User',
      'https://example.com/a',
      'http',
      enterpriseUrn,
      'urn:',
      'n/a',
      `long ${'Y'.repeat(70)}end`,
      `Long ${'y'.repeat(60)}`,
      ids[3] ?? '',
      (ids[4] ?? '').toUpperCase(),
      groups[0].id,
      `${base}/Groups/${groups[1].id}`,
      users[5]?.['meta'].location,
    ],
    [
      ...instants,
      '2020-01-01',
      '2020-01-01T00:00:00',
      '9999-12-31T23:59:59.999Z',
      '0001-01-01T00:01:00+00:01',
      ...instants.map((instant) => new Date(Date.parse(instant) + 1).toISOString()),
    ],
  );
});
after(() => identity.close());

/**
 * Removes an empty `groups`: a response contains the list even if it is empty, but a filter then treats it as absent.
 */
function withoutEmptyGroups(user: Resource): Resource {
  return user['groups'].length === 0 ? { ...user, groups: undefined } : user;
}

/** The condition of a filter, or undefined if it is refused. */
function compile(text: string, values: SqlValues): string | undefined {
  const held = values.values.length;
  let condition: string | undefined;
  const tookMs = processorMsOf(() => {
    try {
      condition = filterCondition(
        { kind: userKind, searched: [userKind], values, base, source: '$1' },
        parseFilter(text),
      );
    } catch (error) {
      if (!(error instanceof Refusal) || error.code !== 'scim_invalid_filter') throw error;
      values.values.length = held;
    }
  });
  assert.ok(tookMs < readMsMax, `took ${tookMs} ms to read: ${text}`);
  return condition;
}

/** The ids that each of the filters finds; undefined for those that are refused. */
async function find(texts: readonly string[]): Promise<(string[] | undefined)[]> {
  const values = new SqlValues();
  values.add(fixture.sourceId);
  const columns: string[] = [];
  const places = texts.map((text) => {
    const condition = compile(text, values);
    if (condition === undefined) return undefined;
    columns.push(
      `array(select r.id::text from scim_users r where r.provisioning_source_id = $1 and ${condition} order by r.created_at, r.id)`,
    );
    return columns.length - 1;
  });
  if (columns.length === 0) return texts.map(() => undefined);
  const before = performance.now();
  const row = await identity.pool.row<{ found: string }>({
    text: `select json_build_array(${columns.join(',\n')})::text as found, $1::uuid as source`,
    values: values.values,
  });
  assertTookLess(before, statementMsMax, `${texts.length} filters`);
  const found = JSON.parse(row?.found ?? '[]') as string[][];
  return places.map((place) => (place === undefined ? undefined : found[place]));
}

/** Like `find`, but also reports the shortest filter that the database can't evaluate. */
async function findAll(texts: readonly string[]): Promise<(string[] | undefined)[]> {
  try {
    return await find(texts);
  } catch (error) {
    for (const text of texts.toSorted((left, right) => left.length - right.length))
      await find([text]).catch((cause: unknown) => assert.fail(`${String(cause)}: ${text}`));
    throw error;
  }
}

/** Draws filters, a hundred at a time. */
async function inStatements<T>(
  count: number,
  one: fc.Arbitrary<T>,
  check: (drawn: readonly T[]) => Promise<void>,
): Promise<void> {
  for (let n = 0; n < count; n += 1)
    await check(fc.sample(one, { seed: (seed + n) | 0, numRuns: filtersInStatement }));
}

test('40,000 generated filters find what a naive evaluator finds', async () => {
  await inStatements(statements, filters, async (generated) => {
    const found = await findAll(generated.map(({ text }) => text));
    const wrong = generated
      .map(({ text, matches }, at) => {
        const naive = users.filter(matches).map(({ id }) => id);
        return { text, found: found[at], wanted: text.length > 2000 ? undefined : naive };
      })
      .filter(({ found: ids, wanted }) => JSON.stringify(ids) !== JSON.stringify(wanted))
      .toSorted((left, right) => left.text.length - right.text.length);
    // Reports only the shortest filter: among a hundred there is usually a short one with the same fault.
    assert.deepEqual(wrong[0], undefined, `IAM_TEST_SCIM_SEED=${seed} ${JSON.stringify(wrong[0])}`);
  });
});

test('a meaningless filter is refused, the largest one is answered, and neither takes long', async () => {
  await inStatements(refusedStatements, refusedFilters, async (texts) => {
    const found = await findAll(texts);
    const accepted = texts.find((_, at) => found[at] !== undefined);
    assert.equal(accepted, undefined, `IAM_TEST_SCIM_SEED=${seed} ${accepted?.slice(0, 200)}`);
  });
  for (const text of fc.sample(largestFilters, { seed, numRuns: largestInAll }))
    assert.notEqual((await findAll([text]))[0], undefined, text);
  await inStatements(randomStatements, randomTexts, async (texts) => void (await findAll(texts)));
});

const orders = fc.record({
  isSearch: fc.boolean(),
  sortBy: fc.constantFrom(
    undefined,
    'userName',
    'emails',
    'meta.lastModified',
    'name.familyName',
    'id',
    'active',
  ),
  sortOrder: fc.constantFrom(undefined, 'descending'),
  startIndex: fc.constantFrom(undefined, 1, 2, 20, 1000),
  count: fc.constantFrom(undefined, 0, 1, 5, 100),
});

test('generated filters over HTTP have the right total and pages', async () => {
  await fc.assert(
    fc.asyncProperty(filters, orders, async ({ text, matches }, { isSearch, ...order }) => {
      fc.pre(text.length <= 2000);
      const query = { filter: text, attributes: 'userName', ...order };
      const before = performance.now();
      const given = Object.entries(query).filter(([, value]) => value !== undefined);
      const { status, body } = isSearch
        ? await client.post('/Users/.search', Object.fromEntries(given))
        : await client.get(
            `/Users?${new URLSearchParams(given.map(([name, value]): [string, string] => [name, String(value)]))}`,
          );
      assert.equal(status, 200, text);
      assertTookLess(before, answerMsMax, text);
      const wanted = users.filter(matches).map(({ id }) => String(id));
      assert.equal(body.totalResults, wanted.length, text);
      const [skipped, count] = [(order.startIndex ?? 1) - 1, order.count ?? 100];
      const found: string[] = body.Resources.map(({ id }: Resource) => id);
      assert.equal(found.length, Math.max(0, Math.min(count, wanted.length - skipped)), text);
      if (order.sortBy === undefined) assert.deepEqual(found, wanted.slice(skipped, skipped + count), text);
      assert.ok(found.every((id) => wanted.includes(id)) && new Set(found).size === found.length, text);
    }),
    { numRuns: overHttp, seed },
  );
});

test('random text as a filter is answered 200 or 400 over HTTP, and quickly', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(randomTexts, refusedFilters), async (text) => {
      fc.pre(text.isWellFormed() && text.length < 8000);
      const before = performance.now();
      const { status } = await client.get(`/Users?filter=${encodeURIComponent(text)}`);
      assert.ok(status === 200 || status === 400, `${status} ${text}`);
      assertTookLess(before, answerMsMax, text);
    }),
    { numRuns: Math.ceil(overHttp / 3), seed },
  );
});
