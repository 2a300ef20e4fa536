import fc from 'fast-check';

/**
 * Generated SCIM filters, each with what it says of a user, written without a thought for SQL or for the parser. The
 * users are as answers show them.
 */

// biome-ignore lint/suspicious/noExplicitAny: documents of any form are what the tests are about
export type Shown = Record<string, any>;

export interface Generated {
  readonly text: string;
  readonly holds: (user: Shown) => boolean;
}

const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const coreUrn = 'urn:ietf:params:scim:schemas:core:2.0:User';

type Kind = 'text' | 'exact' | 'binary' | 'boolean' | 'instant';

/** Something that is compared: one value, or one for each element of a list, absent ones included. */
interface Leaf {
  readonly path: string;
  readonly kind: Kind;
  readonly isList: boolean;
  values(user: Shown): unknown[];
}

const single = (path: string, kind: Kind, value: (user: Shown) => unknown): Leaf => ({
  path,
  kind,
  isList: false,
  values: (user) => [value(user)],
});
const listed = (name: string, sub: string | undefined, kind: Kind): Leaf => ({
  path: sub === undefined ? name : `${name}.${sub}`,
  kind,
  isList: sub === undefined,
  values: (user) => (user[name] ?? []).map((element: Shown) => element[sub ?? 'value']),
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

/** The same text as a client may write it: every character can be an escape. */
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

/** @param words values that some users have, and some that nobody has */
export function filtersOver(words: readonly string[], instants: readonly string[]): fc.Arbitrary<Generated> {
  const word = fc.constantFrom(...words);
  const instant = fc.constantFrom(...instants);

  function comparison(leaf: Leaf): fc.Arbitrary<Generated> {
    const path = anyCase(leaf.path).map((name) => (name.startsWith('$') ? leaf.path : name));
    const some = (compares: (value: unknown) => boolean) => (user: Shown) => leaf.values(user).some(compares);
    const present = fc.tuple(path, blanks, anyCase('pr')).map(
      ([name, blank, pr]): Generated => ({
        text: `${name}${blank}${pr}`,
        holds: some((value) => value !== undefined),
      }),
    );
    const nothing = fc.tuple(path, fc.constantFrom('eq', 'ne')).map(
      ([name, operator]): Generated => ({
        text: `${name} ${operator} null`,
        holds: leaf.isList
          ? (user) => (leaf.values(user).length === 0) === (operator === 'eq')
          : some((value) => (value === undefined) === (operator === 'eq')),
      }),
    );
    const written = (operator: string, literal: string) =>
      fc
        .tuple(path, blanks, anyCase(operator), blanks)
        .map(([name, left, sign, right]) => `${name}${left}${sign}${right}${literal}`);
    if (leaf.kind === 'boolean') {
      const compared = fc.tuple(fc.constantFrom('eq', 'ne'), fc.boolean(), fc.constantFrom('', '"')).chain(
        ([operator, wanted, quote]): fc.Arbitrary<Generated> =>
          written(operator, `${quote}${wanted}${quote}`).map((text) => ({
            text,
            holds: some((value) => (value === wanted) === (operator === 'eq')),
          })),
      );
      return fc.oneof({ weight: 4, arbitrary: compared }, present, nothing);
    }
    if (leaf.kind === 'instant') {
      const compared = fc.tuple(fc.constantFrom('eq', 'ne', 'gt', 'ge', 'lt', 'le'), instant).chain(
        ([operator, wanted]): fc.Arbitrary<Generated> =>
          written(operator, JSON.stringify(wanted)).map((text) => ({
            text,
            holds: some((value) => comparesInstant(operator, String(value), wanted)),
          })),
      );
      return fc.oneof({ weight: 4, arbitrary: compared }, present, nothing);
    }
    const operators = leaf.kind === 'binary' ? textOperators.slice(0, 2) : textOperators;
    const compared = fc.tuple(fc.constantFrom(...operators), word).chain(([operator, wanted]) =>
      quoted(wanted).chain(
        (literal): fc.Arbitrary<Generated> =>
          written(operator, literal).map((text) => ({
            text,
            holds: some((value) => comparesText(operator, leaf.kind, value, wanted)),
          })),
      ),
    );
    return fc.oneof({ weight: 8, arbitrary: compared }, present, nothing);
  }

  /** `emails[…]`: inside, names are those of one element's parts. */
  function elements(name: string, subs: readonly (readonly [string, Kind])[]): fc.Arbitrary<Generated> {
    const inner = fc.oneof(
      ...subs.map(([sub, kind]) => comparison(single(sub, kind, (element) => element[sub]))),
    );
    return trees(inner, 2).map((of) => ({
      text: `${name}[${of.text}]`,
      holds: (user) => (user[name] ?? []).some((element: Shown) => of.holds(element)),
    }));
  }

  const bracketed = fc.oneof(
    elements('emails', [
      ['value', 'text'],
      ['type', 'text'],
      ['display', 'text'],
      ['primary', 'boolean'],
    ]),
    elements('addresses', [
      ['country', 'text'],
      ['type', 'text'],
    ]),
    elements('groups', [
      ['value', 'exact'],
      ['display', 'text'],
    ]),
  );
  const whole = fc.constantFrom('name', 'addresses', `${enterpriseUrn}:manager`).map(
    (path): Generated => ({
      text: `${path} pr`,
      holds: (user) => (path.includes(':') ? user[enterpriseUrn]?.manager : user[path]) !== undefined,
    }),
  );
  const atom = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom(...leaves).chain(comparison) },
    { weight: 4, arbitrary: bracketed },
    { weight: 1, arbitrary: whole },
  );
  return trees(atom, 4);
}

/** `and`, `or`, `not` and parentheses over what is given, also without parentheses where `and` binds closer. */
function trees(atom: fc.Arbitrary<Generated>, depthMax: number): fc.Arbitrary<Generated> {
  const { tree } = fc.letrec<{ tree: Generated; closed: Generated }>((tie) => ({
    closed: fc.oneof(
      { maxDepth: depthMax, withCrossShrink: true },
      { weight: 3, arbitrary: atom },
      {
        weight: 1,
        arbitrary: fc
          .tuple(anyCase('not'), tie('tree'))
          .map(([not, of]) => ({ text: `${not} (${of.text})`, holds: (user: Shown) => !of.holds(user) })),
      },
      { weight: 1, arbitrary: tie('tree').map((of) => ({ ...of, text: `(${of.text})` })) },
    ),
    tree: fc.oneof(
      { maxDepth: depthMax, withCrossShrink: true },
      { weight: 3, arbitrary: tie('closed') },
      {
        weight: 2,
        arbitrary: fc
          .array(fc.array(tie('closed'), { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 3 })
          .map((all) => ({
            text: all.map((some) => some.map(({ text }) => text).join(' and ')).join(' OR '),
            holds: (user: Shown) => all.some((some) => some.every(({ holds }) => holds(user))),
          })),
      },
    ),
  }));
  return tree;
}

/** Filters that are well-formed to the eye and must be refused. */
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

/** As large and as deep as a filter may be; what it finds is not asked. */
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

const scraps = [
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

/** What is no filter, mostly. */
export const noise: fc.Arbitrary<string> = fc.oneof(
  fc.array(fc.constantFrom(...scraps), { maxLength: 40 }).map((parts) => parts.join(' ')),
  fc.array(fc.constantFrom(...scraps), { maxLength: 40 }).map((parts) => parts.join('')),
  fc.string({ unit: 'binary', maxLength: 100 }),
);
