import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import fc from 'fast-check';
import { startIdentity, type TestIdentity } from '../testing/identity.ts';
import { made } from '../testing/objects.ts';
import { makeProvisioning } from '../testing/provisioning.ts';
import { filtered, type ScimClient, scimClient } from '../testing/scim-client.ts';
import { enterpriseUrn } from './schemas.ts';

/**
 * Generated filters and PATCH bodies. `IAM_TEST_SCIM_RUNS` says how many of each (1,000 by default, a few seconds; the
 * long run is `IAM_TEST_SCIM_RUNS=100000`).
 */
const runs = Number(process.env['IAM_TEST_SCIM_RUNS'] ?? 1000);
/** No generated request may take longer. */
const answerMsMax = 2000;

type Doc = Record<string, unknown>;

let identity: TestIdentity;
let client: ScimClient;
const users: Doc[] = [];
before(async () => {
  identity = await startIdentity({ IAM_LOG_LEVEL: 'error' });
  client = scimClient(identity, (await makeProvisioning(identity)).token);
  const texts = ['a', 'B', 'ab', 'aB%', 'x_y', 'q"q', 'b\\b', 'é', undefined];
  for (let n = 0; n < 24; n += 1) {
    const text = (step: number) => texts[(n * step) % texts.length];
    const sent: Doc = {
      userName: `${text(1) ?? 'u'}${n}`,
      externalId: n % 3 === 0 ? undefined : `E${n}`,
      displayName: text(2),
      title: text(3),
      active: n % 4 !== 0,
      name: n % 2 === 0 ? { familyName: text(5), givenName: text(7) } : undefined,
      emails: Array.from({ length: n % 3 }, (_, at) => ({
        value: `${text(at + 1) ?? 'm'}@x`,
        type: at === 0 ? 'work' : 'Home',
        primary: at === 1,
      })),
      [enterpriseUrn]: n % 5 === 0 ? { department: text(4) ?? 'd', manager: { value: 'M' } } : undefined,
    };
    users.push(await made(client.post('/Users', sent)));
  }
});
after(() => identity.close());

interface Leaf {
  readonly path: string;
  readonly kind: 'text' | 'exact' | 'boolean';
  values(user: Doc): unknown[];
}

const part = (value: unknown, name: string) => (value as Doc | undefined)?.[name];
const leaves: readonly Leaf[] = [
  { path: 'userName', kind: 'text', values: (user) => [user['userName']] },
  { path: 'EXTERNALID', kind: 'exact', values: (user) => [user['externalId']] },
  { path: 'displayName', kind: 'text', values: (user) => [user['displayName']] },
  {
    path: 'urn:ietf:params:scim:schemas:core:2.0:User:title',
    kind: 'text',
    values: (user) => [user['title']],
  },
  { path: 'name.familyName', kind: 'text', values: (user) => [part(user['name'], 'familyName')] },
  { path: 'active', kind: 'boolean', values: (user) => [user['active']] },
  {
    path: `${enterpriseUrn}:department`,
    kind: 'text',
    values: (user) => [part(user[enterpriseUrn], 'department')],
  },
  {
    path: `${enterpriseUrn}:manager.value`,
    kind: 'exact',
    values: (user) => [part(part(user[enterpriseUrn], 'manager'), 'value')],
  },
  { path: 'emails', kind: 'text', values: (user) => emailsOf(user).map(({ value }) => value) },
  { path: 'emails.type', kind: 'text', values: (user) => emailsOf(user).map(({ type }) => type) },
  { path: 'emails.primary', kind: 'boolean', values: (user) => emailsOf(user).map(({ primary }) => primary) },
];

function emailsOf(user: Doc): Doc[] {
  return (user['emails'] as Doc[] | undefined) ?? [];
}

/** A filter as text, and what it says of a user, written without a thought for SQL. */
interface Generated {
  readonly text: string;
  readonly holds: (user: Doc) => boolean;
}

const word = fc.constantFrom(
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
  'work',
  'home',
  'E1',
  'M',
  '@x',
  '',
  '1',
);
const textOperators = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
const order = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

function comparesText(operator: string, kind: Leaf['kind'], value: unknown, wanted: string): boolean {
  if (value === undefined) return operator === 'ne';
  const [left, right] =
    kind === 'exact' ? [String(value), wanted] : [String(value).toLowerCase(), wanted.toLowerCase()];
  const rules: Record<string, boolean> = {
    eq: left === right,
    ne: left !== right,
    co: left.includes(right),
    sw: left.startsWith(right),
    ew: left.endsWith(right),
    gt: order(left, right) > 0,
    ge: order(left, right) >= 0,
    lt: order(left, right) < 0,
    le: order(left, right) <= 0,
  };
  return rules[operator] === true;
}

const present = fc.constantFrom(...leaves).map(
  (leaf): Generated => ({
    text: `${leaf.path} pr`,
    holds: (user) => leaf.values(user).some((value) => value !== undefined),
  }),
);
const textual = fc
  .tuple(
    fc.constantFrom(...leaves.filter(({ kind }) => kind !== 'boolean')),
    fc.constantFrom(...textOperators),
    word,
  )
  .map(
    ([leaf, operator, wanted]): Generated => ({
      text: `${leaf.path} ${operator.toUpperCase()} ${JSON.stringify(wanted)}`,
      holds: (user) => leaf.values(user).some((value) => comparesText(operator, leaf.kind, value, wanted)),
    }),
  );
const boolean = fc
  .tuple(
    fc.constantFrom(...leaves.filter(({ kind }) => kind === 'boolean')),
    fc.constantFrom('eq', 'ne'),
    fc.boolean(),
  )
  .map(
    ([leaf, operator, wanted]): Generated => ({
      text: `${leaf.path} ${operator} ${wanted}`,
      holds: (user) => leaf.values(user).some((value) => (value === wanted) === (operator === 'eq')),
    }),
  );
const element = fc
  .tuple(fc.constantFrom('eq', 'ne', 'sw'), word, fc.boolean(), fc.constantFrom('and', 'or'))
  .map(
    ([operator, wanted, primary, join]): Generated => ({
      text: `emails[type ${operator} ${JSON.stringify(wanted)} ${join} not (primary eq ${primary})]`,
      holds: (user) =>
        emailsOf(user).some((email) => {
          const first = comparesText(operator, 'text', email['type'], wanted);
          const second = email['primary'] !== primary;
          return join === 'and' ? first && second : first || second;
        }),
    }),
  );
const { filter } = fc.letrec<{ filter: Generated }>((tie) => ({
  filter: fc.oneof(
    { maxDepth: 4, withCrossShrink: true },
    textual,
    present,
    boolean,
    element,
    tie('filter').map((of) => ({ text: `not (${of.text})`, holds: (user: Doc) => !of.holds(user) })),
    fc.tuple(tie('filter'), tie('filter')).map(([left, right]) => ({
      text: `(${left.text}) and (${right.text})`,
      holds: (user: Doc) => left.holds(user) && right.holds(user),
    })),
    fc.tuple(tie('filter'), tie('filter')).map(([left, right]) => ({
      text: `(${left.text} or ${right.text})`,
      holds: (user: Doc) => left.holds(user) || right.holds(user),
    })),
  ),
}));

test('a generated filter finds what a naive evaluator finds', async () => {
  await fc.assert(
    fc.asyncProperty(filter, async ({ text, holds }) => {
      fc.pre(text.length <= 2000);
      const started = performance.now();
      const { status, body } = await client.get(`/Users${filtered(text)}&attributes=userName`);
      assert.equal(status, 200, text);
      assert.ok(performance.now() - started < answerMsMax);
      const found = body.Resources.map(({ userName }: Doc) => userName);
      assert.deepEqual(
        found,
        users.filter(holds).map(({ userName }) => userName),
        text,
      );
    }),
    { numRuns: runs },
  );
});

const noise = fc
  .array(
    fc.constantFrom(
      'userName',
      'emails',
      '[',
      ']',
      '(',
      ')',
      'eq',
      'and',
      'or',
      'not',
      'pr',
      '"a"',
      '"',
      '\\',
      '.',
      'true',
      '1e9',
      'null',
      'urn:x:',
      '$',
      ' ',
      '\n',
      'é',
      '__proto__',
      "'; drop table scim_users; --",
    ),
  )
  .map((parts) => parts.join(' '));

test('a text that is no filter is answered 200 or 400, and soon', async () => {
  await fc.assert(
    fc.asyncProperty(fc.oneof(noise, fc.string({ unit: 'binary', maxLength: 100 })), async (text) => {
      fc.pre(text.isWellFormed());
      const started = performance.now();
      const { status } = await client.get(`/Users${filtered(text)}`);
      assert.ok(status === 200 || status === 400, `${status} ${text}`);
      assert.ok(performance.now() - started < answerMsMax);
    }),
    { numRuns: runs },
  );
});

const paths = fc.constantFrom<string | undefined>(
  undefined,
  'userName',
  'active',
  'title',
  'name',
  'name.givenName',
  'emails',
  'emails.value',
  'emails[type eq "work"]',
  'emails[type eq "work"].value',
  'emails[primary eq true].type',
  'emails[not (type pr)]',
  'addresses[type eq "home"].country',
  enterpriseUrn,
  `${enterpriseUrn}:manager`,
  `${enterpriseUrn}:manager.value`,
  'groups',
  'id',
  'externalId',
  'schemas',
  '__proto__',
  'constructor.prototype',
  'emails[',
  'nothing',
);
const value = fc.oneof(
  fc.constantFrom<unknown>(
    undefined,
    null,
    '',
    'x',
    'True',
    true,
    1,
    [],
    {},
    [{ value: 'a', primary: true }],
    [{ value: 'b', type: 'work', primary: 'True' }],
    { value: 'c' },
    { givenName: 'G' },
    { 'name.familyName': 'F' },
    { active: 'False' },
    { [enterpriseUrn]: { manager: ['m'] } },
  ),
  fc.jsonValue({ maxDepth: 3 }),
);
const operation = fc.record({ op: fc.constantFrom('add', 'Replace', 'remove', 'move'), path: paths, value });

test('a generated PATCH is answered 200, 400 or 409, and leaves a user that reads like its answer', async () => {
  const { id } = await made(client.post('/Users', { userName: 'patched' }));
  await fc.assert(
    fc.asyncProperty(fc.array(operation, { maxLength: 5 }), async (operations) => {
      const started = performance.now();
      const before = (await client.get(`/Users/${id}`)).body;
      const { status, body } = await client.patch(`/Users/${id}`, operations);
      assert.ok([200, 400, 409].includes(status), `${status} ${JSON.stringify(operations)}`);
      assert.ok(performance.now() - started < answerMsMax);
      const after = (await client.get(`/Users/${id}`)).body;
      assert.deepEqual(after, status === 200 ? body : before);
      const primaries = emailsOf(after).filter(({ primary }) => primary === true);
      assert.ok(primaries.length <= 1, JSON.stringify(operations));
      assert.equal(({} as Doc)['polluted'], undefined);
    }),
    { numRuns: Math.ceil(runs / 2) },
  );
});
