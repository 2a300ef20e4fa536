import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import type { Resource } from './filters.ts';

/**
 * Generated PATCH operations, each with a function that has the same effect on a document. The functions follow RFC
 * 7644 and don't use the code under test. All operations of `patchSteps` are well-formed, so none of them may be
 * refused.
 */

export interface PatchStep {
  readonly operation: Resource;
  /** Changes the document in place, as the operation should. */
  readonly apply: (document: Resource) => void;
}

const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';
const coreUrn = 'urn:ietf:params:scim:schemas:core:2.0:User';

const anyOf = fc.constantFrom;
const text = anyOf('a', 'b', 'Work', 'x@y', '', 'é');
const setOps = anyOf('add', 'Replace', 'ADD', 'replace');
const removeOps = anyOf('remove', 'Remove');

/** The ways to write the name of an attribute. */
function spellings(name: string): fc.Arbitrary<string> {
  return anyOf(name, name.toUpperCase(), `${coreUrn}:${name}`, `${coreUrn.toLowerCase()}:${name}`);
}

/**
 * An operation with a path, or the same operation without a path: its value is then an object with the path as its key.
 */
function stepsOf(
  path: fc.Arbitrary<string>,
  op: fc.Arbitrary<string>,
  value: unknown,
  apply: PatchStep['apply'],
): fc.Arbitrary<PatchStep> {
  return fc.tuple(path, op, fc.boolean()).map(([name, verb, isPathless]) => {
    if (value === undefined) return { operation: { op: verb, path: name }, apply };
    return isPathless && !name.includes('[')
      ? { operation: { op: verb, value: { [name]: value } }, apply }
      : { operation: { op: verb, path: name, value }, apply };
  });
}

/** Sets, removes or nulls a string in the document, in a complex attribute or in an extension. */
function single(path: fc.Arbitrary<string>, owner: readonly string[], name: string): fc.Arbitrary<PatchStep> {
  const remove = (document: Resource) => {
    const holder = owner.reduce<Resource | undefined>((part, key) => part?.[key], document);
    if (holder === undefined) return;
    delete holder[name];
    for (let depth = owner.length; depth > 0; depth -= 1) {
      const above = owner.slice(0, depth - 1).reduce<Resource>((part, key) => part[key], document);
      const key = String(owner[depth - 1]);
      if (Object.keys(above[key]).length === 0) delete above[key];
    }
  };
  const set = (value: unknown) => (document: Resource) => {
    let part = document;
    for (const key of owner) {
      part[key] ??= {};
      part = part[key];
    }
    part[name] = value;
  };
  return fc.oneof(
    { weight: 4, arbitrary: text.chain((value) => stepsOf(path, setOps, value, set(value))) },
    stepsOf(path, removeOps, undefined, remove),
    stepsOf(path, anyOf('replace'), null, remove),
  );
}

const active = anyOf<[unknown, boolean]>(
  [true, true],
  ['False', false],
  ['true', true],
  [false, false],
).chain(([value, meant]) =>
  stepsOf(spellings('active'), setOps, value, (document) => {
    document['active'] = meant;
  }),
);

const manager = anyOf<unknown>('m', { value: 'm' }, [{ value: 'm' }], ['m']).chain((value) =>
  stepsOf(anyOf(`${enterpriseUrn}:manager`), setOps, value, (document) => {
    document[enterpriseUrn] ??= {};
    document[enterpriseUrn].manager = { ...document[enterpriseUrn].manager, value: 'm' };
  }),
);

const name = anyOf<Resource>(
  { givenName: 'G' },
  { familyName: 'F', GIVENNAME: 'H' },
  { middleName: '' },
).chain((value) =>
  stepsOf(spellings('name'), setOps, value, (document) => {
    const { GIVENNAME: givenName = value['givenName'], ...rest } = value;
    document['name'] = {
      ...document['name'],
      ...rest,
      ...(givenName === undefined ? {} : { givenName }),
    };
  }),
);

const email = fc.record(
  {
    value: anyOf('a@x', 'b@x', 'c@x'),
    type: anyOf('work', 'home', 'Work'),
    display: text,
    primary: fc.boolean(),
  },
  { requiredKeys: ['value'], noNullPrototype: true },
);
const emails = fc
  .uniqueArray(email, { minLength: 1, maxLength: 3, comparator: isDeepStrictEqual })
  .filter((list) => merged(list).filter(({ primary }) => primary === true).length <= 1);
const emailsOf = (document: Resource): Resource[] => document['emails'] ?? [];

/** Thrown by `apply` if the operation has to be refused with `noTarget`. */
export class NoTarget extends Error {}

/** A later email updates an earlier one with the same type and value, in upper or lower case. */
function merged(list: readonly Resource[]): Resource[] {
  const isSame = (one: Resource, other: Resource) =>
    one['value'] === undefined
      ? isDeepStrictEqual(one, other)
      : other['value'] !== undefined &&
        ['type', 'value'].every((part) => lower(one[part]) === lower(other[part]));
  const result: Resource[] = [];
  for (const element of list) {
    const place = result.findIndex((one) => isSame(one, element));
    if (place < 0) result.push(element);
    else if (!isDeepStrictEqual({ ...result[place], ...element }, result[place]))
      result[place] = { ...result[place], ...element };
  }
  return result;
}

const lower = (value: unknown) => (typeof value === 'string' ? value.toLowerCase() : value);

/**
 * Stores emails with at most one primary email: the last one that this operation added or made primary; if there is
 * none, the last of those that were primary before.
 */
function storeEmails(document: Resource, before: readonly Resource[], after: readonly Resource[]): void {
  const full = merged(after.filter((element) => Object.keys(element).length > 0));
  const primaries = full.filter(({ primary }) => primary === true);
  const chosen = primaries.findLast((element) => !before.includes(element)) ?? primaries.at(-1);
  const kept = full.map((element) =>
    element['primary'] === true && element !== chosen ? { ...element, primary: false } : element,
  );
  if (kept.length === 0) delete document['emails'];
  else document['emails'] = kept;
}

const lists: fc.Arbitrary<PatchStep> = fc.oneof(
  fc.tuple(emails, fc.boolean()).chain(([list, isBare]) =>
    stepsOf(
      spellings('emails'),
      anyOf('add', 'Add'),
      isBare && list.length === 1 ? list[0] : list,
      (document) => {
        const before = emailsOf(document);
        storeEmails(document, before, [...before, ...merged(list)]);
      },
    ),
  ),
  emails.chain((list) =>
    stepsOf(spellings('emails'), anyOf('replace', 'Replace'), list, (document) =>
      storeEmails(document, [], list),
    ),
  ),
  stepsOf(spellings('emails'), removeOps, undefined, (document) => void delete document['emails']),
  // Removes only the elements in the value, as Entra ID removes members.
  email.map(
    (one): PatchStep => ({
      operation: { op: 'Remove', path: 'emails', value: [{ value: one.value }] },
      apply: (document) =>
        storeEmails(
          document,
          emailsOf(document),
          emailsOf(document).filter(({ value }) => value !== one.value),
        ),
    }),
  ),
);

const wantedType = anyOf('work', 'HOME', 'other');
const isOfType = (type: string) => (element: Resource) =>
  element['type'] !== undefined && String(element['type']).toLowerCase() === type.toLowerCase();

/**
 * `emails[type eq "work"]…` changes the elements that match, or adds one if none match.
 */
const filteredLists: fc.Arbitrary<PatchStep> = wantedType.chain((type) => {
  const path = (rest: string) =>
    anyOf(`emails[type eq "${type}"]${rest}`, `Emails[TYPE EQ "${type}"]${rest}`);
  const change = (part: Resource) => (document: Resource) => {
    const before = emailsOf(document);
    const after = before.some(isOfType(type))
      ? before.map((element) => (isOfType(type)(element) ? { ...element, ...part } : element))
      : [...before, { type, ...part }];
    storeEmails(document, before, after);
  };
  return fc.oneof(
    text.chain((value) => stepsOf(path('.value'), setOps, value, change({ value }))),
    anyOf<[unknown, boolean]>(['True', true], [false, false]).chain(([sent, primary]) =>
      stepsOf(path('.primary'), setOps, sent, change({ primary })),
    ),
    email.chain((whole) => {
      const { type: _, ...one } = whole;
      return stepsOf(path(''), setOps, one, (document) => {
        if (!emailsOf(document).some(isOfType(type))) throw new NoTarget();
        change(one)(document);
      });
    }),
    stepsOf(path(''), removeOps, undefined, (document) => {
      const before = emailsOf(document);
      storeEmails(
        document,
        before,
        before.filter((element) => !isOfType(type)(element)),
      );
    }),
    stepsOf(path('.display'), removeOps, undefined, (document) => {
      const without = (element: Resource) => {
        const { display: _, ...rest } = element;
        return rest;
      };
      const before = emailsOf(document);
      storeEmails(
        document,
        before,
        before.map((element) => (isOfType(type)(element) ? without(element) : element)),
      );
    }),
  );
});

export const patchSteps: fc.Arbitrary<PatchStep[]> = fc.array(
  fc.oneof(
    single(spellings('title'), [], 'title'),
    single(spellings('nickName'), [], 'nickName'),
    single(spellings('name.givenName'), ['name'], 'givenName'),
    single(anyOf(`${enterpriseUrn}:department`), [enterpriseUrn], 'department'),
    single(anyOf(`${enterpriseUrn}:manager.value`), [enterpriseUrn, 'manager'], 'value'),
    active,
    manager,
    name,
    { weight: 4, arbitrary: lists },
    { weight: 5, arbitrary: filteredLists },
  ),
  { minLength: 1, maxLength: 6 },
);

const paths = anyOf<unknown>(
  undefined,
  null,
  '',
  ' ',
  1,
  {},
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
  'emails[value eq null]',
  'emails[type eq "a" or type eq "b"].value',
  'emails[]',
  'addresses[type eq "home"].country',
  'x509Certificates[value gt "A"]',
  'photos',
  'roles[primary eq "True"]',
  enterpriseUrn,
  coreUrn,
  `${enterpriseUrn}:manager`,
  `${enterpriseUrn}:manager.value`,
  `${enterpriseUrn}:`,
  'groups',
  'id',
  'externalId',
  'schemas',
  'meta',
  'meta.version',
  'password',
  'emails[',
  'nothing',
  'urn:x',
  '__proto__',
  '__proto__.x',
  'constructor.prototype',
  'name.__proto__',
  'emails[__proto__ pr].value',
  `emails[${'('.repeat(20)}type pr${')'.repeat(20)}]`,
  `emails[value eq "${'x'.repeat(3000)}"]`,
  'emails[value eq "\\u0000"].type',
  'emails[value eq "\\ud800"].type',
  'title\u0000',
  'é',
);

/** The keys of this value would change a prototype if they were copied. */
const withPrototypeKeys: unknown = JSON.parse(
  '{"__proto__":{"polluted":1},"constructor":{"prototype":{"polluted":1}},"name":{"__proto__":{"polluted":1},"givenName":"G"},"emails":[{"__proto__":{"polluted":1},"value":"p"}]}',
);

const values = fc.oneof(
  anyOf<unknown>(
    undefined,
    null,
    '',
    'x',
    'True',
    true,
    1,
    -0,
    1e308,
    [],
    {},
    [[]],
    [null],
    [{}],
    'é\u0000',
    '\ud800',
    [{ value: 'a', primary: true }],
    [{ value: 'b', type: 'work', primary: 'True' }],
    { value: 'c' },
    { givenName: 'G' },
    { 'name.familyName': 'F' },
    { active: 'False' },
    { '__proto__.x': 1 },
    withPrototypeKeys,
    { [enterpriseUrn]: { manager: ['m'] } },
    { 'emails[type eq "work"].value': 'w' },
    { 'emails[': 1 },
    'x'.repeat(100_000),
    Array.from({ length: 1001 }, (_, n) => ({ value: `v${n}` })),
    [
      { value: 'a', primary: true },
      { value: 'b', primary: true },
    ],
    { userName: '' },
    { userName: 'n' },
  ),
  fc.jsonValue({ maxDepth: 4 }),
);
const hostileOperation = fc.oneof(
  {
    weight: 9,
    arbitrary: fc.record({
      op: anyOf<unknown>('add', 'Replace', 'remove', 'move', 1, null),
      path: paths,
      value: values,
    }),
  },
  { weight: 1, arbitrary: fc.jsonValue({ maxDepth: 2 }) },
);

/** Values of `Operations`, most of them malformed. */
export const hostileOperations: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 30, arbitrary: fc.array(hostileOperation, { maxLength: 5 }) },
  { weight: 2, arbitrary: fc.jsonValue() },
  {
    weight: 1,
    arbitrary: fc.tuple(hostileOperation, anyOf(999, 1000, 1001, 5000)).map(([one, n]) => Array(n).fill(one)),
  },
);
