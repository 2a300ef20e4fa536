import { randomUUID } from 'node:crypto';
import { BenchError } from '../bench-error.ts';
import { RawConnection } from '../claim/raw-connection.ts';
import type { SendRequest } from '../pair.ts';
import type { FilledGroup } from './fill.ts';
import { type FilledSource, largeMembers, type ScimFixture, smallMembers } from './fixture.ts';

/** The same kind of request on little and on much data. */
export interface RequestPair {
  readonly name: string;
  readonly small: SendRequest;
  readonly large: SendRequest;
  /** It must read every user, so its figures are reported without a target. */
  readonly readsAll: boolean;
}

interface Request {
  readonly method: string;
  readonly path: string;
  readonly statuses: readonly number[];
  readonly body?: object;
}

const enterpriseUrn = 'urn:ietf:params:scim:schemas:extension:enterprise:2.0:User';

/** Filters that find the user with the given number. */
const filters: Readonly<Record<string, (n: number) => string>> = {
  'userName eq': (n) => `userName eq "Person${n}@example.com"`,
  'externalId eq': (n) => `externalId eq "E${n}"`,
  'displayName sw': (n) => `displayName sw "person ${n}"`,
  'emails.value eq': (n) => `emails.value eq "Person${n}@home.example"`,
  'emails[type eq and value eq]': (n) => `emails[type eq "work" and value eq "person${n}@example.com"]`,
  'phoneNumbers sw': (n) => `phoneNumbers sw "+44 ${n}"`,
  'name.familyName eq': (n) => `name.familyName eq "family${n}"`,
  'employeeNumber eq': (n) => `${enterpriseUrn}:employeeNumber eq "${n}"`,
  'userName eq or emails eq': (n) => `userName eq "x${n}" or emails eq "person${n}@home.example"`,
  'emails eq and active eq': (n) => `emails eq "person${n}@example.com" and active eq true`,
};

/** Filters whose matches grow with the number of users, or that no index serves. */
const unselective: Readonly<Record<string, string>> = {
  'userName co': 'userName co "son77"',
  'title pr (all have one)': 'title pr',
  'emails.type eq (all have one)': 'emails.type eq "work"',
};

const lists: Readonly<Record<string, string>> = {
  'no filter, first page': '?',
  'active eq true, first page': '?filter=active%20eq%20true',
  'sorted by userName': '?sortBy=userName',
  'sorted by meta.lastModified, down': '?sortBy=meta.lastModified&sortOrder=descending',
};

export async function makeRequestPairs(
  fixture: ScimFixture,
): Promise<{ pairs: RequestPair[]; close(): void }> {
  const { small, large, smallGroup, largeGroup } = fixture;
  const socket = await RawConnection.open(fixture.service.port);
  const by = (source: FilledSource, next: () => Request): SendRequest => {
    return async () => {
      const request = next();
      const status = await socket.exchange(textOf(request, source.token));
      if (!request.statuses.includes(status))
        throw new BenchError(`${request.method} ${request.path} got ${status}.`);
    };
  };
  const both = (
    name: string,
    next: (source: FilledSource) => () => Request,
    readsAll = false,
  ): RequestPair => ({
    name,
    small: by(small, next(small)),
    large: by(large, next(large)),
    readsAll,
  });
  const groups = (name: string, next: (group: FilledGroup) => () => Request): RequestPair => ({
    name,
    small: by(large, next(smallGroup)),
    large: by(large, next(largeGroup)),
    readsAll: false,
  });
  const pairs = [
    groups(`PATCH of one member, group of ${smallMembers} and ${largeMembers}`, patchMember),
    groups(
      'GET of that group without its members',
      ({ id }) =>
        () =>
          get(`/Groups/${id}?excludedAttributes=members`),
    ),
    ...Object.entries(filters).map(([name, filter]) =>
      both(name, ({ users }) => {
        const number = numbers(users);
        return () => get(`/Users?filter=${encodeURIComponent(filter(number()))}`);
      }),
    ),
    ...Object.entries(lists).map(([name, query]) => both(name, () => () => get(`/Users${query}`))),
    both('POST of a user', () => postUser),
    {
      name: 'GET of a user',
      small: by(small, () => get(`/Users/${small.userId}`)),
      large: by(large, () => get(`/Users/${large.userId}`)),
      readsAll: false,
    },
    ...Object.entries(unselective).map(([name, filter]) =>
      both(name, () => () => get(`/Users?filter=${encodeURIComponent(filter)}`), true),
    ),
    both(
      'last page',
      ({ users }) =>
        () =>
          get(`/Users?startIndex=${users - 99}`),
      true,
    ),
  ];
  return { pairs, close: () => void socket.close() };
}

const get = (path: string): Request => ({ method: 'GET', path, statuses: [200] });

/** Numbers with as many digits as the largest, so that a prefix matches as many users in both sources. */
function numbers(users: number): () => number {
  let calls = 0;
  return () => {
    calls += 1;
    return users / 10 + ((calls * 7919) % (users * 0.9));
  };
}

/** Adds and removes a member alternately, so that each request makes a change. */
function patchMember({ id, outsiderId }: FilledGroup): () => Request {
  let isMember = false;
  return () => {
    isMember = !isMember;
    const op = isMember ? 'add' : 'remove';
    const operations = [{ op, path: 'members', value: [{ value: outsiderId }] }];
    const schemas = ['urn:ietf:params:scim:api:messages:2.0:PatchOp'];
    // Above 200 members the response has no body; without members, both responses have about the same size.
    const path = `/Groups/${id}?excludedAttributes=members`;
    return { method: 'PATCH', path, statuses: [200, 204], body: { schemas, Operations: operations } };
  };
}

function postUser(): Request {
  const name = randomUUID();
  const body = {
    schemas: ['urn:ietf:params:scim:schemas:core:2.0:User', enterpriseUrn],
    userName: `${name}@example.com`,
    externalId: name,
    displayName: `New ${name}`,
    name: { familyName: name, givenName: 'New' },
    emails: [{ value: `${name}@example.com`, type: 'work', primary: true }],
    [enterpriseUrn]: { department: 'New', employeeNumber: name },
  };
  return { method: 'POST', path: '/Users', statuses: [201], body };
}

function textOf({ method, path, body }: Request, token: string): string {
  const text = body === undefined ? '' : JSON.stringify(body);
  const head = [
    `${method} /scim/v2${path} HTTP/1.1`,
    'host: 127.0.0.1',
    `authorization: Bearer ${token}`,
    ...(text === '' ? [] : ['content-type: application/scim+json', `content-length: ${text.length}`]),
  ];
  return `${head.join('\r\n')}\r\n\r\n${text}`;
}
