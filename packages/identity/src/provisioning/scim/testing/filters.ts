import fc from 'fast-check';

/**
 * Generated SCIM filters, each with a function that evaluates it on a user. The functions follow RFC 7644 and use
 * neither SQL nor the parser, so that they can't have the same bugs.
 */

/** A user or group in the format of responses, or a part of one. */
// biome-ignore lint/suspicious/noExplicitAny: documents of any form are what the tests are about
export type Resource = Record<string, any>;

export interface GeneratedFilter {
  readonly text: string;
  readonly matches: (user: Resource) => boolean;
}

const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const coreUrn = 'urn:ietf:params:scim:schemas:core:2.0:User';

type Kind = 'text' | 'exact' | 'binary' | 'boolean' | 'instant';

/**
 * The compared value: the single value of an attribute, or a value of each element of a list. Absent values are
 * undefined.
 */
interface Leaf {
  readonly path: string;
  readonly kind: Kind;
  readonly isList: boolean;
  values(user: Resource): unknown[];
}

const single = (path: string, kind: Kind, value: (user: Resource) => unknown): Leaf => ({
  path,
  kind,
  isList: false,
  values: (user) => [value(user)],
});
const listed = (name: string, sub: string | undefined, kind: Kind): Leaf => ({
  path: sub === undefined ? name : `${name}.${sub}`,
  kind,
  isList: sub === undefined,
  values: (user) => (user[name] ?? []).map((element: Resource) => element[sub ?? 'value']),
});

const leaves: readonly Leaf[] = [
  single('id', 'exact', ({ id }) => id),
  single('userName', 'text', ({ userName }) => userName),
  single('externalId', 'exact', ({ externalId }) => externalId),
  single('displayName', 'text', ({ displayName }) => displayName),
  single('active', 'boolean', ({ active }) => active),
  single(`${coreUrn}:title`, 'text', ({ title }) => title),
  single('nickName', 'text', ({ nickName }) => nickName),
  single('profileUrl', 'exact', ({ profileUrl }) => profileUrl),
  single('name.familyName', 'text', ({ name }) => name?.familyName),
  single(`${coreUrn}:name.givenName`, 'text', ({ name }) => name?.givenName),
  single(`${enterpriseUrn}:department`, 'text', (user) => user[enterpriseUrn]?.department),
  single(`${enterpriseUrn}:manager`, 'exact', (user) => user[enterpriseUrn]?.manager?.value),
  single(`${enterpriseUrn}:manager.value`, 'exact', (user) => user[enterpriseUrn]?.manager?.value),
  single('meta.resourceType', 'exact', ({ meta }) => meta.resourceType),
  single('meta.version', 'exact', ({ meta }) => meta.version),
  single('meta.location', 'exact', ({ meta }) => meta.location),
  single('meta.created', 'instant', ({ meta }) => meta.created),
  single('meta.lastModified', 'instant', ({ meta }) => meta.lastModified),
  listed('emails', undefined, 'text'),
  listed('emails', 'value', 'text'),
  listed('emails', 'type', 'text'),
  listed('emails', 'display', 'text'),
  listed('emails', 'primary', 'boolean'),
  listed('phoneNumbers', undefined, 'text'),
  listed('addresses', 'country', 'text'),
  listed('photos', 'value', 'exact'),
  listed('x509Certificates', undefined, 'binary'),
  listed('groups', undefined, 'exact'),
  listed('groups', '$ref', 'exact'),
  listed('groups', 'display', 'text'),
  listed('groups', 'type', 'text'),
  { path: 'schemas', kind: 'exact', isList: true, values: ({ schemas }) => schemas },
];

const textOperators = ['eq', 'ne', 'co', 'sw', 'ew', 'gt', 'ge', 'lt', 'le'] as const;
const order = (left: string, right: string) => Buffer.compare(Buffer.from(left), Buffer.from(right));

function comparesText(operator: string, kind: Kind, value: unknown, wanted: string): boolean {
  if (value === undefined) return operator === 'ne';
  const [left, right] =
    kind === 'text' ? [String(value).toLowerCase(), wanted.toLowerCase()] : [String(value), wanted];
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

function comparesInstant(operator: string, value: string, wanted: string): boolean {
  const difference = Date.parse(value) - Date.parse(wanted);
  const rules: Record<string, boolean> = {
    eq: difference === 0,
    ne: difference !== 0,
    gt: difference > 0,
    ge: difference >= 0,
    lt: difference < 0,
    le: difference <= 0,
  };
  return rules[operator] === true;
}

/** A string as a literal, either plain or with every character escaped. */
const quoted = (text: string): fc.Arbitrary<string> =>
  fc.constantFrom(
    JSON.stringify(text),
    `"${text
      .split('')
      .map((unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
      .join('')}"`,
  );
const anyCase = (word: string): fc.Arbitrary<string> =>
  fc.constantFrom(word, word.toUpperCase(), word[0]?.toUpperCase() + word.slice(1));
const blanks = fc.constantFrom(' ', ' ', ' ', '  ', '\t', '\n ');

/** The candidates for compared values: some match users, some match none. */
interface Vocabulary {
  readonly words: fc.Arbitrary<string>;
  readonly instants: fc.Arbitrary<string>;
}

export function filtersOver(
  words: readonly string[],
  instants: readonly string[],
): fc.Arbitrary<GeneratedFilter> {
  const vocabulary = { words: fc.constantFrom(...words), instants: fc.constantFrom(...instants) };
  const bracketed = fc.oneof(
    elementFilters(vocabulary, 'emails', [
      ['value', 'text'],
      ['type', 'text'],
      ['display', 'text'],
      ['primary', 'boolean'],
    ]),
    elementFilters(vocabulary, 'addresses', [
      ['country', 'text'],
      ['type', 'text'],
    ]),
    elementFilters(vocabulary, 'groups', [
      ['value', 'exact'],
      ['display', 'text'],
    ]),
  );
  const complexPresent = fc.constantFrom('name', 'addresses', `${enterpriseUrn}:manager`).map(
    (path): GeneratedFilter => ({
      text: `${path} pr`,
      matches: (user) => (path.includes(':') ? user[enterpriseUrn]?.manager : user[path]) !== undefined,
    }),
  );
  const condition = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...leaves).chain((leaf) => leafFilters(vocabulary, leaf)) },
    { weight: 4, arbitrary: bracketed },
    { weight: 1, arbitrary: complexPresent },
  );
  return expressionsOver(condition, 4);
}

/** Conditions on one attribute: comparisons, `pr`, and comparisons with `null`. */
function leafFilters({ words, instants }: Vocabulary, leaf: Leaf): fc.Arbitrary<GeneratedFilter> {
  const unconditional = [presenceFilters(leaf), nullFilters(leaf)] as const;
  if (leaf.kind === 'boolean')
    return fc.oneof({ weight: 4, arbitrary: booleanFilters(leaf) }, ...unconditional);
  if (leaf.kind === 'instant')
    return fc.oneof({ weight: 4, arbitrary: instantFilters(leaf, instants) }, ...unconditional);
  return fc.oneof({ weight: 8, arbitrary: textFilters(leaf, words) }, ...unconditional);
}

function presenceFilters(leaf: Leaf): fc.Arbitrary<GeneratedFilter> {
  return fc.tuple(pathsOf(leaf), blanks, anyCase('pr')).map(([name, blank, pr]) => ({
    text: `${name}${blank}${pr}`,
    // An empty string is not a value. A list is present if it has any element.
    matches:
      leaf.isList && !leaf.path.includes('.')
        ? (user) => leaf.values(user).length > 0
        : someValue(leaf, (value) => value !== undefined && value !== ''),
  }));
}

/** A list is null if it has no element; a part is null in each element that lacks it. */
function nullFilters(leaf: Leaf): fc.Arbitrary<GeneratedFilter> {
  return fc.tuple(pathsOf(leaf), fc.constantFrom('eq', 'ne')).map(([name, operator]) => ({
    text: `${name} ${operator} null`,
    matches: leaf.isList
      ? (user) => (leaf.values(user).length === 0) === (operator === 'eq')
      : someValue(leaf, (value) => (value === undefined) === (operator === 'eq')),
  }));
}

function booleanFilters(leaf: Leaf): fc.Arbitrary<GeneratedFilter> {
  return fc
    .tuple(fc.constantFrom('eq', 'ne'), fc.boolean(), fc.constantFrom('', '"'))
    .chain(([operator, wanted, quote]) =>
      comparisonTexts(leaf, operator, `${quote}${wanted}${quote}`).map((text) => ({
        text,
        matches: someValue(leaf, (value) => (value === wanted) === (operator === 'eq')),
      })),
    );
}

function instantFilters(leaf: Leaf, instants: fc.Arbitrary<string>): fc.Arbitrary<GeneratedFilter> {
  return fc.tuple(fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le'), instants).chain(([operator, wanted]) =>
    comparisonTexts(leaf, operator, JSON.stringify(wanted)).map((text) => ({
      text,
      matches: someValue(leaf, (value) => comparesInstant(operator, String(value), wanted)),
    })),
  );
}

function textFilters(leaf: Leaf, words: fc.Arbitrary<string>): fc.Arbitrary<GeneratedFilter> {
  const operators = leaf.kind === 'binary' ? textOperators.slice(0, 2) : textOperators;
  return fc.tuple(fc.constantFrom(...operators), words).chain(([operator, wanted]) =>
    quoted(wanted).chain((literal) =>
      comparisonTexts(leaf, operator, literal).map((text) => ({
        text,
        matches: someValue(leaf, (value) => comparesText(operator, leaf.kind, value, wanted)),
      })),
    ),
  );
}

function pathsOf({ path }: Leaf): fc.Arbitrary<string> {
  return anyCase(path).map((name) => (name.startsWith('$') ? path : name));
}

function someValue(leaf: Leaf, meets: (value: unknown) => boolean): (user: Resource) => boolean {
  return (user) => leaf.values(user).some(meets);
}

function comparisonTexts(leaf: Leaf, operator: string, literal: string): fc.Arbitrary<string> {
  return fc
    .tuple(pathsOf(leaf), blanks, anyCase(operator), blanks)
    .map(([name, left, sign, right]) => `${name}${left}${sign}${right}${literal}`);
}

/** `emails[…]`: the names in the brackets are those of the parts of one element. */
function elementFilters(
  vocabulary: Vocabulary,
  name: string,
  subs: readonly (readonly [string, Kind])[],
): fc.Arbitrary<GeneratedFilter> {
  const inner = fc.oneof(
    ...subs.map(([sub, kind]) =>
      leafFilters(
        vocabulary,
        single(sub, kind, (element) => element[sub]),
      ),
    ),
  );
  return expressionsOver(inner, 2).map((of) => ({
    text: `${name}[${of.text}]`,
    matches: (user) => (user[name] ?? []).some((element: Resource) => of.matches(element)),
  }));
}

/** `and`, `or`, `not` and parentheses over conditions, including `and` next to `or` without parentheses. */
function expressionsOver(
  condition: fc.Arbitrary<GeneratedFilter>,
  depthMax: number,
): fc.Arbitrary<GeneratedFilter> {
  const { expression } = fc.letrec<{ expression: GeneratedFilter; operand: GeneratedFilter }>((tie) => ({
    operand: fc.oneof(
      { maxDepth: depthMax, withCrossShrink: true },
      { weight: 3, arbitrary: condition },
      {
        weight: 1,
        arbitrary: fc.tuple(anyCase('not'), tie('expression')).map(([not, of]) => ({
          text: `${not} (${of.text})`,
          matches: (user: Resource) => !of.matches(user),
        })),
      },
      { weight: 1, arbitrary: tie('expression').map((of) => ({ ...of, text: `(${of.text})` })) },
    ),
    expression: fc.oneof(
      { maxDepth: depthMax, withCrossShrink: true },
      { weight: 3, arbitrary: tie('operand') },
      {
        weight: 2,
        arbitrary: fc
          .array(fc.array(tie('operand'), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
          .map((alternatives) => ({
            text: alternatives.map((all) => all.map(({ text }) => text).join(' and ')).join(' OR '),
            matches: (user: Resource) =>
              alternatives.some((all) => all.every(({ matches }) => matches(user))),
          })),
      },
    ),
  }));
  return expression;
}

/**
 * Filters that look well-formed, but contain an unknown attribute or an invalid comparison, or are too long or too
 * deep.
 */
export const refusedFilters: fc.Arbitrary<string> = fc.oneof(
  fc.constantFrom(
    'active gt true',
    'active eq "maybe"',
    'active eq 1',
    'userName eq 1',
    'userName gt null',
    'userName eq true',
    'addresses eq "x"',
    'name eq "x"',
    'name[givenName pr]',
    'emails[groups pr]',
    'emails[emails[type pr]]',
    'emails[type.value pr]',
    'password pr',
    'nothing pr',
    '__proto__ pr',
    'constructor.prototype eq "x"',
    'emails.__proto__ pr',
    'emails[__proto__ pr]',
    'urn:x:userName pr',
    'x509Certificates gt "A"',
    'meta.created co "2026"',
    'meta.created eq "2026-02-30T00:00:00Z"',
    'meta.created eq "+275760-09-13T00:00:00Z"',
    'meta.created eq "99999-01-01T00:00:00Z"',
    'meta.created eq "0000-01-01T00:00:00Z"',
    'meta.created eq "0001-01-01T00:00:00+00:01"',
    'meta.created eq 1e999',
    'meta.created eq "9999-12-31T23:59:59-23:59"',
    'userName eq "\\u0000"',
    'userName eq "\\ud800"',
    'userName eq "\\x"',
    'userName eq "a',
    'userName eq a"',
    'userName pr pr',
    'userName eq "a" "b"',
    '',
    ' ',
  ),
  fc.integer({ min: 17, max: 900 }).map((n) => `${'('.repeat(n)}userName pr${')'.repeat(n)}`),
  fc.integer({ min: 17, max: 300 }).map((n) => `${'not ('.repeat(n)}userName pr${')'.repeat(n)}`),
  fc.integer({ min: 1987, max: 40_000 }).map((n) => `userName eq "${'x'.repeat(n)}"`),
);

/** Filters as long or as deep as the limits allow. The tests check only that the response arrives in time. */
export const largestFilters: fc.Arbitrary<string> = fc.oneof(
  fc.integer({ min: 1, max: 15 }).map((n) => `${'not ('.repeat(n)}emails pr${')'.repeat(n)}`),
  fc
    .constantFrom('emails pr', 'emails co "a"', 'title eq "x"', 'emails[type eq "a" or not (value co "%")]')
    .map((term) => Array.from({ length: Math.floor(1990 / (term.length + 4)) }, () => term).join(' or ')),
  fc
    .constantFrom('%', '_', '\\\\', "'", 'é', '😀', '%_')
    .map((piece) => `emails co "${piece.repeat(Math.floor(1900 / piece.length))}"`),
  fc
    .constantFrom('sw', 'eq', 'co', 'gt')
    .map((operator) => `title ${operator} "${"\\\\'%:*|&!(){}<->".repeat(80)}"`),
);

const fragments = [
  'userName',
  'emails',
  'urn:x:',
  '__proto__',
  'constructor',
  '$ref',
  '$',
  'meta.created',
  '.',
  '[',
  ']',
  '(',
  ')',
  '"a"',
  '"',
  '\\',
  '"\\u0000"',
  '"\\udead"',
  'é',
  '😀',
  '\u0000',
  '\n',
  ' ',
  'eq',
  'and',
  'or',
  'not',
  'pr',
  'true',
  'null',
  '1e9',
  '-0',
  '1e999',
  "'; drop table scim_users; --",
];

/** Mostly not filters. */
export const randomTexts: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...fragments), { maxLength: 40 }).map((parts) => parts.join(' ')),
  fc.array(fc.constantFrom(...fragments), { maxLength: 40 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 100 }),
);
