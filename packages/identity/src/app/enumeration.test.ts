import assert from 'node:assert/strict';
import { generateKeyPairSync, randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { after, before, mock, test } from 'node:test';
import { sql } from '@baton/kernel/database/sql';
import { makeRealm, newSubject, signInBy, startFederation } from '../sign-in/federation/testing/sign-in.ts';
import type { Upstream } from '../sign-in/federation/testing/upstream.ts';
import { VirtualAuthenticator } from '../sign-in/passkeys/testing/authenticator.ts';
import { ask, invite, makePerson } from '../sign-in/passkeys/testing/people.ts';
import type { Answer, TestIdentity } from '../testing/identity.ts';
import { made, makeTenant } from '../testing/objects.ts';

/** Strangers can't find out anywhere whether a person, an e-mail address or a passkey exists. */

let identity: TestIdentity;
let upstream: Upstream;
before(async () => {
  ({ identity, upstream } = await startFederation());
});
after(async () => {
  await identity.close();
  await upstream.close();
});

type Schema = { readonly [key: string]: unknown };

/** The names of all fields in a schema, with those of the schemas that it refers to. */
function fieldsIn(schema: unknown, document: Schema, seen = new Set<unknown>()): string[] {
  if (typeof schema !== 'object' || schema === null || seen.has(schema)) return [];
  seen.add(schema);
  const { $ref: reference, properties = {}, ...rest } = schema as Schema;
  const referred = String(reference ?? '')
    .split('/')
    .slice(1)
    .reduce<unknown>((found, key) => (found as Schema)[key], document);
  return [
    ...Object.keys(properties as object),
    ...[...Object.values(properties as object), ...Object.values(rest)].flatMap((one) =>
      fieldsIn(one, document, seen),
    ),
    ...(reference === undefined ? [] : fieldsIn(referred, document, seen)),
  ];
}

interface Described {
  readonly security?: readonly unknown[];
  readonly requestBody?: unknown;
  readonly parameters?: readonly { readonly name: string }[];
}

for (const service of ['identity', 'coordination'])
  test(`no endpoint of ${service} without a sign-in takes an e-mail address or the name of a person`, async () => {
    const file = join(import.meta.dirname, `../../../../openapi/${service}.json`);
    const document = JSON.parse(await readFile(file, 'utf8')) as {
      paths: Record<string, Record<string, Described>>;
    };
    const open = Object.values(document.paths)
      .flatMap((methods) => Object.values(methods))
      .filter(({ security }) => security?.length === 0);
    assert.ok(open.length > 3);
    const names = open.flatMap(({ requestBody, parameters = [] }) => [
      ...parameters.map(({ name }) => name),
      ...fieldsIn(requestBody, document as unknown as Schema),
    ]);
    assert.ok(names.includes(service === 'identity' ? 'credential' : 'statement'), 'bodies are read');
    assert.deepEqual(
      names.filter((name) => /e-?mail|login|user_?name|display_?name/i.test(name)),
      [],
    );
  });

const shown = ({ status, body, headers }: Answer) => ({
  status,
  body,
  headers: [...headers.keys()].filter((name) => name !== 'date' && name !== 'x-request-id').sort(),
  length: headers.get('content-length'),
});

test('a sign-in by a provider gets the same response whether somebody has the e-mail address or not', async () => {
  const realm = await makeRealm(identity, upstream, { unknownPeople: 'request' });
  const email = 'maria@example.com';
  await invite(identity, realm.tenantId, { email });
  const answers = [];
  for (const address of [email, 'nobody@example.com']) {
    const token = await upstream.sign({ sub: newSubject(), email: address, email_verified: true });
    answers.push(shown(await signInBy(identity, realm, token)));
  }
  assert.equal(answers[0]?.status, 403);
  assert.deepEqual(answers[0], answers[1]);
});

test('an unknown passkey gets the response of a known one, after as much work', async () => {
  const { authenticator, principalId } = await makePerson(identity, await makeTenant(identity));
  const { privateKey: key } = generateKeyPairSync('ec', { namedCurve: 'P-256' });
  const stranger = new VirtualAuthenticator();
  const verified = mock.method(crypto.subtle, 'verify');
  const present = async (by: VirtualAuthenticator) => {
    const { publicKey, state } = await made(ask(identity, '/passkeys:sign-in-options'));
    verified.mock.resetCalls();
    const userHandle = by.userHandle === '' ? randomBytes(32).toString('base64url') : by.userHandle;
    const credential = by.get(publicKey, { key, userHandle });
    const answer = shown(await ask(identity, '/passkeys:sign-in', { state, credential }));
    return { answer, signatures: verified.mock.callCount() };
  };
  try {
    const unknown = await present(stranger);
    assert.deepEqual([unknown.answer.status, unknown.signatures], [401, 1]);
    assert.deepEqual(await present(authenticator), unknown);
    await identity.pool.run(sql`update principals set status = 'disabled' where id = ${principalId}`);
    assert.deepEqual(await present(authenticator), unknown);
  } finally {
    verified.mock.restore();
  }
});
