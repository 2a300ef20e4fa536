import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { Refusal } from '@baton/kernel/http/refusal';
import { processorMsOf } from '@baton/kernel/testing/process/processor-time';
import { measureDocument } from '@baton/values/document-size';
import { eventText } from '@baton/values/event-text';
import { redactSecrets } from '@baton/values/secret-material';
import type { Json } from '@baton/values/wire';
import {
  checkDocument,
  documentBytesMax,
  documentDepthMax,
  documentNodesMax,
  refuseSecretKeys,
  refuseSecretText,
} from './documents.ts';

function refused(act: () => void): { code: string; details: object } | undefined {
  try {
    act();
    return undefined;
  } catch (error) {
    assert.ok(error instanceof Refusal);
    return { code: error.code, details: error.details };
  }
}

const check = (value: unknown) => refused(() => checkDocument(value, { field: 'metadata' }));
const nested = (levels: number): Json => {
  let value: Json = {};
  for (let level = 1; level < levels; level += 1) value = { a: value };
  return value;
};

test('a document is an object', () => {
  const invalid = { code: 'invalid_document', details: { field: 'metadata' } };
  for (const value of [[], 'text', 1, null, undefined, true]) assert.deepEqual(check(value), invalid);
  assert.equal(check({}), undefined);
});

test('bytes are those of compact JSON in UTF-8', () => {
  fc.assert(
    fc.property(fc.jsonValue(), (value) => {
      assert.equal(measureDocument(value as Json).bytes, Buffer.byteLength(JSON.stringify(value)));
    }),
  );
  const exact = { a: 'x'.repeat(documentBytesMax - '{"a":""}'.length) };
  assert.equal(check(exact), undefined);
  assert.deepEqual(check({ a: `${exact.a}x` }), {
    code: 'payload_too_large',
    details: { field: 'metadata', maxBytes: documentBytesMax, actualBytes: documentBytesMax + 1 },
  });
});

test('a document has at most 20 levels', () => {
  assert.equal(check(nested(documentDepthMax)), undefined);
  const tooDeep = { code: 'payload_too_deep', details: { field: 'metadata', maxDepth: documentDepthMax } };
  assert.deepEqual(check(nested(documentDepthMax + 1)), tooDeep);
  assert.deepEqual(check(nested(10_000)), tooDeep);
  assert.equal(
    check(JSON.parse(`{"a":${'['.repeat(500_000)}${']'.repeat(500_000)}}`))?.code,
    'payload_too_large',
  );
});

test('a document has at most 5000 nodes', () => {
  const full = { a: Array.from({ length: documentNodesMax - 2 }, () => 0) };
  assert.equal(check(full), undefined);
  assert.deepEqual(check({ a: [...full.a, 0] }), {
    code: 'payload_too_large',
    details: { field: 'metadata', maxNodes: documentNodesMax },
  });
});

test('a key named like a secret is refused with its path, in any spelling', () => {
  for (const key of [
    'password',
    'apiKey',
    'API-KEY',
    'x_api_key',
    'accessToken',
    'CLIENT_SECRET',
    'private-key',
  ])
    assert.deepEqual(
      refused(() => refuseSecretKeys({ list: [{}, { [key]: 1 }] }, 'customFields')),
      { code: 'secret_material_rejected', details: { field: 'customFields', path: `/list/1/${key}` } },
    );
  for (const key of ['secretRef', 'secret_ref', 'pass', 'key', 'auth'])
    assert.equal(
      refused(() => refuseSecretKeys({ [key]: 'vault:1' }, 'customFields')),
      undefined,
    );
});

const secret = 'a1B2c3D4e5F6g7H8i9J0k1L2';
const secrets: [kind: string, text: string][] = [
  [
    'private_key',
    `-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\n${secret}\n-----END RSA PRIVATE KEY-----`,
  ],
  ['private_key', `-----BEGIN PRIVATE KEY-----\n${secret}`],
  ['provider_key', `sk-${secret}`],
  ['provider_key', `rk-live-${secret}`],
  ['github_token', `ghp_${secret}`],
  ['slack_token', `xoxb-123456789012-${secret}`],
  ['aws_access_key', 'AKIAIOSFODNN7EXAMPLE'],
  ['google_api_key', `AIza${secret}`],
  ['jwt', `eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiIxIn0.${secret}`],
  ['baton_token', `iam_pat_0123456789ab_${secret}`],
  ['bearer_token', `Bearer ${secret}`],
  ['secret_assignment', `password: ${secret}`],
  ['secret_assignment', `"apiKey"="${secret}"`],
];

test('a text shaped like a secret is refused with its kind, and redacted completely', () => {
  for (const [match, text] of secrets) {
    for (const prose of [text, `see ${text}, please`, `(${text})`]) {
      const refusal = refused(() => refuseSecretText(prose, 'body'));
      assert.deepEqual(
        refusal,
        { code: 'secret_material_rejected', details: { field: 'body', match } },
        prose,
      );
      const redacted = redactSecrets(prose);
      assert.ok(redacted.includes('[redacted]') && !redacted.includes(secret), redacted);
    }
  }
});

test('ordinary prose passes', () => {
  const prose = [
    'The task-runner uses a risk-averse desk for disk-space; see RFC 7519 on tokens.',
    'token: none, password: hunter2',
    'Reset the password, then rotate the secret and the API key.',
    'bearer of bad news',
    'commit 3f2a9c1d4e5f6a7b8c9d0e1f2a3b4c5d6e7f8091',
  ];
  for (const text of prose) {
    assert.equal(
      refused(() => refuseSecretText(text, 'body')),
      undefined,
      text,
    );
    assert.equal(redactSecrets(text), text);
  }
});

test('text in events is cut to 1000 characters with an ellipsis, never inside a character', () => {
  assert.equal(eventText('x'.repeat(1000)), 'x'.repeat(1000));
  assert.equal(eventText('x'.repeat(1001)), `${'x'.repeat(999)}…`);
  assert.equal(eventText('🙂'.repeat(1000)), '🙂'.repeat(1000));
  assert.equal(eventText('🙂'.repeat(70_000)), `${'🙂'.repeat(999)}…`);
  assert.equal(eventText(`before sk-${secret} after`), 'before [redacted] after');
  fc.assert(
    fc.property(fc.string({ unit: 'grapheme', maxLength: 3000, size: 'max' }), (text) => {
      const cut = eventText(text);
      assert.ok([...cut].length <= 1000 && cut.isWellFormed());
    }),
  );
});

test('64 KiB of hostile text take less than 50 ms', () => {
  const fill = (text: string) => text.repeat(Math.ceil(65_536 / text.length)).slice(0, 65_536);
  const hostile = [
    ...['-----BEGIN ', '-----BEGIN PRIVATE KEY-----', '-----BEGIN PRIVATE KEY-----\n-----END '],
    ...[
      'sk-',
      'sk-a',
      'ghp_',
      'ghp_a ',
      'xoxb-',
      'AKIA',
      'AIza',
      'AIza-',
      'Bearer ',
      'bearer\t',
      'token=',
      "token='",
    ],
    ...[
      'token   ',
      'token : ',
      'password',
      'eyJ',
      'eyJ-',
      'eyJ.',
      'eyJaaaaa.',
      'eyJaaaaa.eyJaaaaa',
      'iam_pat_',
      'cp_',
    ],
    ...[' ', '\n', 'a', '-', '/', '=', '"', '🙂'],
  ].map(fill);
  for (const text of hostile) {
    const ms = processorMsOf(() => {
      refused(() => refuseSecretText(text, 'body'));
      redactSecrets(text);
      eventText(text);
    });
    assert.ok(ms < 50, `${JSON.stringify(text.slice(0, 30))} took ${ms} ms`);
  }
});
